/** Where an app of create-t3-app has its users. */
export type T3Database = 'libsql' | 'postgres' | 'own'

const OPEN: Readonly<Record<T3Database, readonly [module: string, call: string]>> = {
  libsql: ['sqlite', 'openSqlite({ client: client.$client })'],
  postgres: ['postgres', 'openPostgres({ pool: client.$client })'],
  own: ['sqlite', "openSqlite(process.env.AUTH_DATABASE_URL ?? 'file:data/auth.db')"],
}

/** Returns `context.ts` for an app with a database handle. */
export function t3Context(database: T3Database): string {
  const [module, call] = OPEN[database]
  const [name] = call.split('(')
  return `import { withAuthStore } from '@sallyport/core'
import { createAuth } from '@sallyport/core/auth'
import { ${name} } from '@sallyport/core/${module}'
import type { NextContextOptions } from '@sallyport/trpc/next'
import authDefinition from './auth'
import { db as client } from './server/db'

const open = () => ${call}
// With a name, hot reloads share one database.
export const auth = createAuth(authDefinition, open, { name: 'app' })
const db = withAuthStore(client, auth.store)
export const createContext = (request: NextContextOptions) => ({ ...request, db })
export type Context = ReturnType<typeof createContext>
`
}

/** How the route of create-t3-app reports errors. */
export const T3_ON_ERROR = `onError({ path, error }) {
    if (process.env.NODE_ENV === 'development') console.error(\`tRPC failed on \${path}: \${error.message}\`)
  },`

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

/** Serves the router, and calls it from pages. The routes and `src/trpc/server.ts` import it. */
export const T3_SERVER = `import { createNextAuth } from '@sallyport/trpc/next'
import { authConfig } from '../auth.config'
import { auth, createContext } from '../context'
import { appRouter } from './api/root'
import { createTRPCContext } from './api/trpc'

export const { GET, OPTIONS, POST, actionCaller, getPage, pageContext } = createNextAuth({
  auth,
  config: authConfig,
  router: appRouter,
  createContext: (request) => createTRPCContext(createContext(request)),
  onError({ path, error }) {
    if (process.env.NODE_ENV === 'development') console.error(\`tRPC failed on \${path}: \${error.message}\`)
  },
})
`

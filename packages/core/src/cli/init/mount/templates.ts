import { NEXT_FILES } from '../next/templates.ts'
import { FILES } from '../templates.ts'

/** The settings of an app with a server, which may load its `.env` after it imports them. */
export const LAZY_FILES: Readonly<Record<'auth.config.ts' | 'auth.ts', string>> = {
  'auth.config.ts': NEXT_FILES['auth.config.ts'],
  'auth.ts': FILES['auth.ts'].replace('= process.env', '= () => process.env'),
}

/** Opens the database and reads the session. Apps without a `createContext` use it as the context. */
export const AUTH_SERVER = `import { createAuth } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { createAuthContext, type RequestContextOptions } from '@sallyport/trpc'
import { authConfig } from './auth.config.ts'
import authDefinition from './auth.ts'

const open = () => openSqlite(process.env.DATABASE_URL ?? 'file:data/app.db')
export const auth = createAuth(authDefinition, open)
const context = createAuthContext(authConfig, auth)

/** For HTTP and WebSocket. Pass all options on. */
export const authContext = (options: RequestContextOptions) => ({ ...context.request(options), db: auth.db })
`

export const CONTEXT_FILE = `import { authContext } from './auth-server.ts'

export const createContext = authContext
export type Context = ReturnType<typeof createContext>
`

/** The auth client of a page. */
export const AUTH_CLIENT = `import { createAuthClient } from '@sallyport/trpc/client'
import type { auth } from './auth-server.ts'

export const authClient = createAuthClient<typeof auth.api>()
`

import { createAuthContext, type RequestContextOptions } from '@sallyport/trpc'
import { authConfig } from './auth.config.ts'
import { auth } from './auth.ts'

const context = createAuthContext(authConfig, auth)

/** Creates the context of HTTP and WebSocket. */
export const createContext = (options: RequestContextOptions) => ({
  ...context.request(options),
  db: auth.db,
})
export type Context = ReturnType<typeof createContext>

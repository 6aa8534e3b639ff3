import { createAuthContext, type HttpContextOptions, type WsContextOptions } from '@sallyport/trpc'
import { authConfig } from './auth.config.ts'
import { testAuth } from './test-auth.ts'

export const auth = testAuth
export const database = { db: testAuth.db, close: testAuth.close }
const context = createAuthContext(authConfig, { db: database.db })
export const httpContext = (options: HttpContextOptions) => ({ ...context.http(options), db: database.db })
export const wsContext = (options: WsContextOptions) => ({ ...context.ws(options), db: database.db })
export type Context = ReturnType<typeof httpContext>

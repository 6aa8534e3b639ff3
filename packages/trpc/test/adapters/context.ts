import { createAuthContext, type HttpContextOptions, type WsContextOptions } from '@sallyport/trpc'
import { authConfig } from './auth.config.ts'
import { database } from './database.ts'

const auth = createAuthContext(authConfig, { db: database.db })
export const httpContext = (options: HttpContextOptions) => ({ ...auth.http(options), db: database.db })
export const wsContext = (options: WsContextOptions) => ({ ...auth.ws(options), db: database.db })
export type Context = ReturnType<typeof httpContext>

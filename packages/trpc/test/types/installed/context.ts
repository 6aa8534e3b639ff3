import { createAuthContext, type HttpContextOptions, type WsContextOptions } from '@sallyport/trpc'
import { authConfig } from './auth.config.ts'
import { database } from './database.ts'
import { runner } from './internal.ts'

const { db } = database
const auth = createAuthContext(authConfig, { db })
export const httpContext = (options: HttpContextOptions) => ({ ...auth.http(options), db, runner })
export const wsContext = (options: WsContextOptions) => ({ ...auth.ws(options), db, runner })
export const pageContext = (headers: Headers) => ({ ...auth.headers(headers), db, runner })
export type Context = ReturnType<typeof httpContext>

import { createAuthContext, type HttpContextOptions } from '@sallyport/trpc'
import { authConfig } from './auth.config.ts'
import { database } from './database.ts'

const auth = createAuthContext(authConfig)

export const httpContext = (options: HttpContextOptions) => ({ ...auth.http(options), db: database.db })

export const pageContext = (headers: Headers) => ({ ...auth.headers(headers), db: database.db })

export type Context = ReturnType<typeof httpContext>

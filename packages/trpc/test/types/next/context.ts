import { createAuthContext } from '@sallyport/trpc'
import type { FetchCreateContextFnOptions } from '@trpc/server/adapters/fetch'
import { authConfig } from './auth.config.ts'
import { database } from './auth-server.ts'

const authContext = createAuthContext(authConfig)

export const httpContext = (options: FetchCreateContextFnOptions) => ({
  ...authContext.http(options),
  db: database.db,
})

export const pageContext = (headers: Headers) => ({ ...authContext.headers(headers), db: database.db })

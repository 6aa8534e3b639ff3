import { createAuthContext } from '@sallyport/trpc'
import type { FetchCreateContextFnOptions } from '@trpc/server/adapters/fetch'
import type { CreateWSSContextFnOptions } from '@trpc/server/adapters/ws'
import { authConfig } from './auth.config.ts'
import { db } from './database.ts'
import { runner } from './runner.ts'

const auth = createAuthContext(authConfig, { db })

/** Creates the context of HTTP and server-sent events, once per request. */
export const httpContext = (
  options: FetchCreateContextFnOptions & { remoteAddress?: string | undefined },
) => ({ ...auth.http(options), db, runner, cookie: options.req.headers.get('cookie') })

/** Creates the context of a WebSocket, once per connection. */
export const wsContext = (options: CreateWSSContextFnOptions) => ({
  ...auth.ws(options),
  db,
  runner,
  // The cookies of the upgrade may be outdated, so `gate.inspect` only works over HTTP.
  cookie: null,
})

/** Creates the context of a page that the server renders, once per query. */
export const pageContext = (headers: Headers) => ({
  ...auth.headers(headers),
  db,
  runner,
  cookie: headers.get('cookie'),
})

export type Context = ReturnType<typeof httpContext>

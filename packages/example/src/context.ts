import { createAuthContext } from '@sallyport/trpc'
import type { FetchCreateContextFnOptions } from '@trpc/server/adapters/fetch'
import type { CreateWSSContextFnOptions } from '@trpc/server/adapters/ws'
import { authConfig } from './auth.config.ts'
import { db } from './database.ts'
import { runner } from './runner.ts'

const auth = createAuthContext(authConfig, { db })

/** For HTTP and server-sent events: once per request. */
export const httpContext = (
  options: FetchCreateContextFnOptions & { remoteAddress?: string | undefined },
) => ({ ...auth.http(options), db, runner, cookie: options.req.headers.get('cookie') })

/** For WebSocket: once per connection. */
export const wsContext = (options: CreateWSSContextFnOptions) => ({
  ...auth.ws(options),
  db,
  runner,
  // They may have come from another origin, and are those of the beginning: `gate.look` is for HTTP.
  cookie: null,
})

/** For pages that are rendered on the server: once per page. */
export const pageContext = (headers: Headers) => ({
  ...auth.headers(headers),
  db,
  runner,
  cookie: headers.get('cookie'),
})

export type Context = ReturnType<typeof httpContext>

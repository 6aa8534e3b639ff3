import type { OperationLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import { AuthClientError } from '../client/auth-client-error.ts'
import { toCallError } from './call-error.ts'

let message = 'TOKEN_MISSING'
try {
  // Written so bundlers can replace the expression and drop the text from production code.
  if (process.env.NODE_ENV !== 'production')
    message =
      'On a server, authLink sends only the queries of a page. With `headers` of createAuthClient, it also sends queries and mutations over HTTP. Prefetch the query. In a program with a cookie jar, set `isServer: false`.'
} catch {
  // Browsers have no `process`.
}

/** Rejects a call that needs credentials, a socket, or an event stream, which a page on a server lacks. */
export const rejectOnServer: OperationLink<AnyTRPCRouter> = () =>
  observable(({ error }) => error(toCallError(new AuthClientError(401, { code: 'TOKEN_MISSING', message }))))

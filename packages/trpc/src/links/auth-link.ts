import type { OperationLink, TRPCLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import { clientSession } from '../client/client-session.ts'
import type { LinkClient } from './link-client.ts'
import { rejectOnServer } from './reject-on-server.ts'
import { runCall } from './run-call.ts'

/** A page of `createServerAuth`. */
interface LinkPage {
  '~link'(reject: OperationLink<AnyTRPCRouter>): OperationLink<AnyTRPCRouter>
}

/**
 * Creates the first of the links. A call waits for a fresh JWT if the current one is due. If the guard
 * rejects the JWT before the resolver ran, the call is sent again once with a new JWT. A response to a call
 * of one user never reaches the next: the call fails with `CLIENT_CLOSED_REQUEST`.
 *
 * While the server can't validate the session, queries that need a new JWT wait, and mutations fail.
 * Subscriptions continue after their last event when the outage is over, and end when the user signs out.
 *
 * For Better Auth's client, pass `betterAuthSession(authClient)`.
 *
 * On a server, nothing waits: queries and mutations are sent once, with the page's cookies. Subscriptions,
 * and calls without `headers` in `createAuthClient`, fail with `TOKEN_MISSING`. With the page of
 * `createServerAuth` instead of a client, only queries are made, by `call` of the page.
 *
 * The server must add `authErrorData` to its error formatter. Without it, no call is sent again, and in
 * development the first 401 logs a warning.
 *
 * @example
 * links: [authLink(authClient), httpBatchLink({ url: '/trpc', fetch: authClient.fetch, maxItems: 20 })]
 */
export function authLink<Router extends AnyTRPCRouter>(authClient: LinkClient | LinkPage): TRPCLink<Router> {
  if ('~link' in authClient) return () => authClient['~link'](rejectOnServer)
  const session = authClient[clientSession]
  const { server, start = (call) => call() } = session
  return () => (call) => {
    if (!server) return observable((observer) => start(() => runCall({ ...call, session, observer })))
    return server.headers && call.op.type !== 'subscription' ? call.next(call.op) : rejectOnServer(call)
  }
}

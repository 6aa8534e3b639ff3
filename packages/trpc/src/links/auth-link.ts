import { TRPCClientError, type TRPCLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import { clientError } from '../client/auth-client-error.ts'
import { clientSession } from '../client/client-session.ts'
import { authDataOf, toCallError, warnOfFormatter } from './call-error.ts'
import { type CallingPage, callOnPage } from './call-on-page.ts'
import type { LinkClient } from './link-client.ts'
import { rejectOnServer } from './reject-on-server.ts'
import { runCall } from './run-call.ts'
import type { Call, LinkCall } from './send-call.ts'

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
 * @example links: [authLink(authClient), httpBatchLink({ url: '/trpc', fetch: authClient.fetch })]
 */
export function authLink<Router extends AnyTRPCRouter>(
  authClient: LinkClient | CallingPage,
): TRPCLink<Router> {
  if ('call' in authClient) return () => callOnPage(authClient)
  const session = authClient[clientSession]
  const { server, start = (call) => call() } = session
  return () => (call) => {
    if (!server) return observable((observer) => start(() => startCall({ ...call, session, observer })))
    return server.hasCookies && call.op.type !== 'subscription' ? call.next(call.op) : rejectOnServer(call)
  }
}

/** Starts a call, which ends when the user changes. Returns a function that cancels it. */
function startCall(options: LinkCall & Pick<Call, 'session' | 'observer'>): () => void {
  const { session, observer, op } = options
  const { userChanges } = session.getState()
  const isSubscription = op.type === 'subscription'
  const over = new AbortController()

  function stop(error: object): void {
    if (isSubscription) observer.complete()
    else observer.error(TRPCClientError.from(error))
  }

  function isAbandoned(): boolean {
    const state = session.getState()
    const isGone = state.userChanges !== userChanges || (isSubscription && state.status === 'signing-out')
    if (isGone) stop(toCallError(clientError('USER_CHANGED')))
    return isGone
  }

  function report(error: unknown): void {
    warnOfFormatter(session, error)
    session.report(authDataOf(error).reason ?? '', userChanges)
  }

  const abort = () => stop(op.signal?.reason)
  const unfollow = isSubscription ? session.subscribe(isAbandoned) : undefined
  op.signal?.addEventListener('abort', abort, { signal: over.signal })
  if (op.signal?.aborted) abort()
  else
    runCall({ ...options, signal: over.signal, isAbandoned, report }).catch((error) =>
      observer.error(TRPCClientError.from(error)),
    )
  return () => {
    over.abort()
    unfollow?.()
  }
}

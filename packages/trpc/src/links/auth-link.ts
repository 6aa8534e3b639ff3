import { isTokenReason } from '@sallyport/core/protocol'
import { type OperationResultEnvelope, TRPCClientError, type TRPCLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable, type Unsubscribable } from '@trpc/server/observable'
import type { AuthClient } from '../client/auth-client.ts'
import { signedOut, toClientError, userChanged } from '../client/auth-client-error.ts'
import { backOff } from '../client/back-off.ts'
import { mayEnd } from '../client/call-on-behalf.ts'
import { clientSession } from '../client/client-session.ts'
import { afterEvent } from './after-event.ts'
import { streamIn, watchStream } from './answer-stream.ts'
import { authDataOf, isOutage, isUndecided, toCallError } from './call-error.ts'
import { decidedState } from './decided-state.ts'

/** A subscription that has lasted so long was well, in milliseconds: what ends it then is a new trouble. */
const LASTING_MS = 30_000

/**
 * The first of the links. A call waits for a fresh JWT where the one at hand is due. One that is refused for its JWT is sent again once, with
 * a new one, where the guard says that nothing has been run. What a call of one user is answered never reaches the next: it fails with
 * `CLIENT_CLOSED_REQUEST`.
 *
 * While nobody can say whether the session counts, queries that need a new JWT wait, and mutations fail. A query that begins during a
 * sign-out waits for its outcome, and is not sent when it has succeeded.
 *
 * Subscriptions outlast outages: the connection state shows the error, and they are sent again, later and later, to go on after their last
 * event. They end when the user signs out.
 *
 * @example
 * createTRPCClient<AppRouter>({
 *   links: [authLink(authClient), httpBatchLink({ url: '/trpc', fetch: authClient.fetch })],
 * })
 */
export function authLink<Router extends AnyTRPCRouter>(
  authClient: Pick<AuthClient, typeof clientSession>,
): TRPCLink<Router> {
  const session = authClient[clientSession]
  return () =>
    ({ op, next }) =>
      observable((observer) => {
        const { userChanges } = session.getState()
        const isSubscription = op.type === 'subscription'
        let sent: Unsubscribable | undefined
        let timer: ReturnType<typeof setTimeout> | undefined
        const over = new AbortController()
        let hasBegun = false
        /** What has gone wrong with a subscription, until the server has answered again. */
        let trouble: TRPCClientError<Router> | null = null
        let lastEventId: string | undefined

        function stop(error: object): void {
          if (isSubscription) observer.complete()
          else observer.error(TRPCClientError.from(error))
        }

        /** Whether the user who called is gone, and the call with them. */
        function isAbandoned(): boolean {
          const state = session.getState()
          const isGone =
            state.userChanges !== userChanges || (isSubscription && state.status === 'signing-out')
          if (isGone) stop(toCallError(userChanged()))
          return isGone
        }

        /** A refusal may say that the session has ended. */
        function report(error: unknown): void {
          const { reason } = authDataOf(error)
          if (reason && mayEnd(reason)) session.report(reason, userChanges)
        }

        /** For each value of a stream that a query has answered with. */
        function check(): void {
          if (isAbandoned()) throw toCallError(userChanged())
        }

        function showState(error: TRPCClientError<Router> | null): void {
          trouble = error
          const state = error ? 'connecting' : 'pending'
          observer.next({ result: { type: 'state', state, error } as ConnectionState<Router> })
        }

        /** Sends the call, and resolves with the error that it ended with, or that ends it for us. */
        function send(): Promise<TRPCClientError<Router>> {
          return new Promise((resolve) => {
            let isDone = false
            hasBegun = false
            function end(error: TRPCClientError<Router>): void {
              isDone = true
              resolve(error)
            }
            sent = next(afterEvent(op, lastEventId)).subscribe({
              next(envelope) {
                if (isDone || isAbandoned()) return
                const { type, error, id } = envelope.result as Told<Router>
                if (type !== 'state') {
                  hasBegun = true
                  if (trouble) showState(null)
                } else if (error ? isOutage(error) : trouble) {
                  if (error) end(error)
                  return
                }
                lastEventId = id ?? lastEventId
                const stream = streamIn(envelope.result)
                if (stream)
                  observer.next({ ...envelope, result: { data: watchStream(stream, { check, report }) } })
                else observer.next(envelope)
              },
              error: end,
              complete() {
                if (!isDone) observer.complete()
              },
            })
            // It may have been unsubscribed by what it was told at once.
            if (over.signal.aborted) sent.unsubscribe()
          })
        }

        async function run(): Promise<void> {
          if (isAbandoned()) return
          let failures = 0
          let isReplay = false
          while (!over.signal.aborted) {
            await session.refreshIfDue()
            if (session.getState().status === 'signing-out') {
              if (op.type === 'mutation') throw toCallError(userChanged())
              await decidedState(session, over.signal)
            }
            if (over.signal.aborted || isAbandoned()) return
            const { generation } = session
            const sentAt = performance.now()
            const error = await send()
            sent?.unsubscribe()
            if (over.signal.aborted || isAbandoned()) return
            const { reason = '', replay, retryAfterSeconds = null } = authDataOf(error)
            report(error)
            const hasLasted = performance.now() - sentAt > LASTING_MS
            if (isSubscription && hasLasted) failures = 0
            // The stream began, so the server had accepted its JWT. `refreshAfter` ends a loop.
            if (isSubscription && (hasBegun || hasLasted)) isReplay = false
            // The resolver of a subscription runs again whenever its connection is lost.
            const mayResend = replay || (isSubscription && hasBegun)
            if (isTokenReason(reason) && isReplay && mayResend) {
              // The JWT was superseded between its refresh and the call.
              if (await session.isOvertaken(generation)) continue
            } else if (isTokenReason(reason) && !isReplay) {
              isReplay = true
              if (mayResend) {
                await refreshAfter(generation, error)
                continue
              }
              session.refreshAfter(generation).catch(() => {})
            }
            if (!isSubscription || !isOutage(error)) throw error
            showState(error)
            await new Promise((resolve) => {
              timer = setTimeout(resolve, backOff(++failures, retryAfterSeconds))
            })
          }
        }

        /** Waits for a newer JWT than the one that was refused. */
        async function refreshAfter(generation: number, refused: TRPCClientError<Router>): Promise<void> {
          let failure = await session.refreshAfter(generation).then(() => null, toClientError)
          if (failure && isUndecided(failure) && op.type !== 'mutation') {
            if (isSubscription) showState(toCallError(failure, refused))
            const { status, error } = await decidedState(session, over.signal)
            failure = status === 'unauthenticated' ? signedOut() : error
          }
          if (failure) throw toCallError(failure, refused)
        }

        function abort(): void {
          stop(op.signal?.reason)
        }

        const unfollow = isSubscription ? session.subscribe(isAbandoned) : undefined
        op.signal?.addEventListener('abort', abort)
        if (op.signal?.aborted) abort()
        else run().catch((error) => observer.error(TRPCClientError.from(error)))
        return () => {
          over.abort()
          unfollow?.()
          clearTimeout(timer)
          op.signal?.removeEventListener('abort', abort)
          sent?.unsubscribe()
        }
      })
}

/** What the links tell of a call: data, that it has started or stopped, or the state of its connection. */
interface Told<Router extends AnyTRPCRouter> {
  readonly type?: string
  /** Of data that the server sent with `tracked()`. */
  readonly id?: string
  readonly error?: TRPCClientError<Router> | null
}

/** A connection state as tRPC's links tell it. */
type ConnectionState<Router extends AnyTRPCRouter> = Extract<
  OperationResultEnvelope<unknown, TRPCClientError<Router>>['result'],
  { type: 'state' }
>

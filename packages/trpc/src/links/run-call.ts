import { isTokenReason } from '@sallyport/core/internal/protocol'
import { TRPCClientError } from '@trpc/client'
import {
  type AuthClientError,
  clientError,
  isDecided,
  isRejection,
  toClientError,
} from '../client/auth-client-error.ts'
import { backOff, pause } from '../client/back-off.ts'
import { authDataOf, type CallError, isOutage, toCallError, warnOfFormatter } from './call-error.ts'
import { guardStream } from './guard-stream.ts'
import { type Call, type Envelope, sendCall } from './send-call.ts'
import { waitUntilDecided } from './wait-until-decided.ts'

/**
 * After this long, a subscription is healthy and its back-off starts over. Longer than the lease of a session
 * that the server can't read again, and shorter than the 10 s after which some platforms end all responses.
 */
const HEALTHY_MS = 8_000
/** The same for one that the server hasn't accepted, such as while the browser is offline. */
const WAITED_MS = 30_000

/**
 * Sends a call until it succeeds, its error is final, or its user changes. A subscription continues after its
 * last event. Returns a function that cancels it.
 */
export function runCall({ session, observer, op, next }: Call): () => void {
  const { userChanges } = session.getState()
  const isSubscription = op.type === 'subscription'
  const isMutation = op.type === 'mutation'
  const over = new AbortController()
  /** Aborts when the call has ended. Its `onabort` is that of the current attempt or wait. */
  const { signal } = over
  /** The operation that continues after the last event. */
  let current = op
  let isReplay = false
  let isOut = false
  let failures = 0
  /** Of the JWT of the current attempt. */
  let seq = 0
  /** Whether the server has accepted the current attempt, so a subscription may continue. */
  let hasBegun = false

  function stop(error: object): void {
    if (isSubscription) observer.complete()
    else observer.error(TRPCClientError.from(error))
  }

  /** Returns whether the user of this call is gone, which ends it. A sign-out ends only subscriptions. */
  function isGone(): boolean {
    const state = session.getState()
    const hasLeft = state.userChanges !== userChanges || (isSubscription && state.status === 'signing-out')
    if (hasLeft) stop(toCallError(clientError('USER_CHANGED')))
    return hasLeft
  }

  const isOver = () => signal.aborted || isGone()

  function report(error: unknown): void {
    warnOfFormatter(session, error)
    session.report(authDataOf(error).reason ?? '', userChanges)
  }

  function show(error: CallError | null): void {
    isOut = error !== null
    const state = error ? 'connecting' : 'pending'
    if (isSubscription) observer.next({ result: { type: 'state', state, error } as ConnectionState })
  }

  /** Passes an envelope on, or returns the error that ends this attempt. */
  function receive(envelope: Envelope): CallError | null | undefined {
    if (isGone()) return
    const { type, error, id, data } = envelope.result as Result
    if (type !== 'state') {
      hasBegun = isSubscription
      if (isOut) show(null)
    } else if (error ? isOutage(error) : isOut) return error
    // `id` is set if the server used `tracked()`. Continues the same way as tRPC's links.
    if (id && typeof (op.input ?? {}) === 'object')
      current = { ...op, input: { ...(op.input as object | null), lastEventId: id } }
    const isStream = Symbol.asyncIterator in Object(data)
    const guarded = isStream && {
      ...envelope,
      result: { data: guardStream(data, { next: isGone, error: report }) },
    }
    observer.next(guarded || envelope)
  }

  async function run(): Promise<void> {
    while (!isOver()) {
      await session.refreshDue()
      const { isStale, shown } = session.get()
      // The cookies may be those of another user, until a refresh succeeds.
      if (isStale || shown.status === 'signing-out') {
        if (isMutation) throw toCallError(shown.error ?? clientError('USER_CHANGED'))
        const failure = await waitUntilDecided(session, signal)
        if (failure && session.get().isStale && isDecided(failure)) throw toCallError(failure)
      }
      // Just before the call is sent, or the user may change in between.
      if (isOver()) return
      const sentAt = performance.now()
      seq = session.get().seq
      hasBegun = false
      const error = await sendCall(next(current), { ...observer, next: receive, signal })
      if (isOver()) return
      report(error)
      const isHealthy = isSubscription && performance.now() - sentAt > (hasBegun ? HEALTHY_MS : WAITED_MS)
      if (isHealthy) failures = 0
      // The server accepted the JWT before: this is the first rejection of another one.
      if (hasBegun || isHealthy) isReplay = false
      const { reason = '', replay, retryAfterSeconds } = authDataOf(error)
      if (isTokenReason(reason)) {
        const refreshing = isReplay ? null : session.refreshAfter(seq).catch(toClientError)
        // The resolver has run. The refresh is for the next call.
        if (!replay && !hasBegun) throw error
        // A replay is sent again only if its JWT was superseded meanwhile.
        if (isReplay && !(await session.isSuperseded(seq))) throw error
        let failure: AuthClientError | null | undefined = await refreshing
        if (failure && !isMutation && (!isRejection(failure) || failure.code === 'UNKNOWN')) {
          show(toCallError(failure, error))
          failure = await waitUntilDecided(session, signal)
        }
        if (failure) throw toCallError(failure, error)
        isReplay = true
      } else if (isSubscription && isOutage(error)) {
        show(error)
        await pause(backOff(++failures, retryAfterSeconds), (end) => {
          signal.onabort = end
          // The next attempt replaces it.
          return () => {}
        })
      } else throw error
    }
  }

  const unfollow = isSubscription ? session.subscribe(isGone) : null
  op.signal?.addEventListener('abort', () => stop(op.signal?.reason), { signal })
  if (op.signal?.aborted) stop(op.signal.reason)
  else run().catch((error) => observer.error(TRPCClientError.from(error)))
  return () => {
    over.abort()
    unfollow?.()
  }
}

interface Result {
  readonly type?: string
  readonly error?: CallError | null
  readonly id?: string
  readonly data: AsyncIterable<unknown>
}

type ConnectionState = Extract<Envelope['result'], { type: 'state' }>

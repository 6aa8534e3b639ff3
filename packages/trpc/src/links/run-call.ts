import { isTokenReason } from '@sallyport/core/internal/protocol'
import type { Operation } from '@trpc/client'
import { clientError, isDecided, isRejection, toClientError } from '../client/auth-client-error.ts'
import { backOff, pause } from '../client/back-off.ts'
import { authDataOf, type CallError, isOutage, toCallError } from './call-error.ts'
import { type Call, type Envelope, sendCall } from './send-call.ts'
import { waitUntilDecided } from './wait-until-decided.ts'

/**
 * After this long, a subscription is healthy and its back-off starts over. Longer than the lease of a session
 * that the server can't read again, and shorter than the 10 s after which some platforms end all responses.
 */
const HEALTHY_MS = 8_000
/** The same for one that the server hasn't accepted, such as while the browser is offline. */
const WAITED_MS = 30_000

/** Sends a call until it succeeds or its error is final. A subscription continues after its last event. */
export async function runCall(call: Call): Promise<void> {
  const { session, op, signal } = call
  const isSubscription = op.type === 'subscription'
  let isReplay = false
  let failures = 0
  let lastEventId: string | undefined
  let isOut = false
  /** Of the JWT of the current attempt. */
  let seq = 0
  /** Whether the server has accepted the current attempt, so a subscription may continue. */
  let hasBegun = false

  function show(error: CallError | null): void {
    isOut = error !== null
    const state = error ? 'connecting' : 'pending'
    if (isSubscription) call.observer.next({ result: { type: 'state', state, error } as ConnectionState })
  }

  /** Waits for a newer JWT, and returns whether to send the call again. Throws the reason without one. */
  async function prepareReplay(rejected: CallError): Promise<boolean> {
    const { reason = '', replay } = authDataOf(rejected)
    if (!isTokenReason(reason)) return false
    const mayResend = replay || hasBegun
    // A replay is sent again only if its JWT was superseded meanwhile.
    if (isReplay) return Boolean(mayResend) && session.isSuperseded(seq)
    const refreshing = session.refreshAfter(seq).then(() => null, toClientError)
    // The refresh is for the next call. The resolver of this one has run.
    if (!mayResend) return false
    let failure = await refreshing
    if (failure && op.type !== 'mutation' && (!isRejection(failure) || failure.code === 'UNKNOWN')) {
      show(toCallError(failure, rejected))
      failure = await waitUntilDecided(session, signal)
    }
    if (failure) throw toCallError(failure, rejected)
    return true
  }

  while (!isOver(call)) {
    await untilReady(call)
    // Just before the call is sent, or the user may change in between.
    if (isOver(call)) return
    const sentAt = performance.now()
    seq = session.get().seq
    hasBegun = false
    const error = await sendCall(call, continueAfter(op, lastEventId), ({ result }) => {
      // `id` is set if the server used `tracked()`.
      const { type, error, id }: { type?: string; error?: CallError | null; id?: string } = result
      if (type !== 'state') {
        hasBegun = isSubscription
        if (isOut) show(null)
      } else if (error) {
        if (isOutage(error)) return error
      } else if (isOut) return false
      lastEventId = id ?? lastEventId
      return true
    })
    if (isOver(call)) return
    call.report(error)
    const isHealthy = isSubscription && performance.now() - sentAt > (hasBegun ? HEALTHY_MS : WAITED_MS)
    if (isHealthy) failures = 0
    // The server accepted the JWT before: this is the first rejection of another one.
    if (hasBegun || isHealthy) isReplay = false
    if (await prepareReplay(error)) isReplay = true
    else if (isSubscription && isOutage(error)) {
      show(error)
      await pause(backOff(++failures, authDataOf(error).retryAfterSeconds), (end) => {
        signal.onabort = end
        // The next attempt replaces it.
        return () => {}
      })
    } else throw error
  }
}

const isOver = (call: Call) => call.signal.aborted || call.isAbandoned()

/** Waits until the call may be sent, or has ended. */
async function untilReady(call: Call): Promise<void> {
  await call.session.refreshIfDue()
  const { isRestored, shown } = call.session.get()
  // The cookies may be those of another user, until a refresh succeeds.
  if (isRestored || shown.status === 'signing-out') {
    if (call.op.type === 'mutation')
      throw toCallError((isRestored && shown.error) || clientError('USER_CHANGED'))
    const failure = await waitUntilDecided(call.session, call.signal)
    if (failure && isDecided(failure) && call.session.get().isRestored) throw toCallError(failure)
  }
}

/** Returns the operation that continues after an event, the same way as those of tRPC's links. */
function continueAfter(op: Operation, lastEventId: string | undefined): Operation {
  if (!lastEventId || typeof (op.input ?? {}) !== 'object') return op
  return { ...op, input: { ...(op.input as object | null), lastEventId } }
}

type ConnectionState = Extract<Envelope['result'], { type: 'state' }>

import { isTokenReason } from '@sallyport/core/internal/protocol'
import {
  type AuthClientError,
  clientError,
  isDecided,
  isRejection,
  toClientError,
} from '../client/auth-client-error.ts'
import { authDataOf, type CallError, toCallError } from './call-error.ts'
import type { LinkSession } from './link-session.ts'
import type { Call } from './send-call.ts'

interface Attempt {
  readonly generation: number
  /** A replay is sent again only if its JWT was superseded meanwhile. */
  readonly isReplay: boolean
  /** Whether it is a subscription that has run, and may be sent again. */
  readonly hasBegun: boolean
  readonly show: (outage: CallError) => void
}

/** Waits for a newer JWT, and returns whether to send the call again. Throws the reason without one. */
export async function prepareReplay(call: Call, rejected: CallError, attempt: Attempt): Promise<boolean> {
  const { reason = '', replay } = authDataOf(rejected)
  if (!isTokenReason(reason)) return false
  const mayResend = replay || attempt.hasBegun
  if (attempt.isReplay) return Boolean(mayResend) && call.session.isSuperseded(attempt.generation)
  const refreshing = call.session.refreshAfter(attempt.generation).then(() => null, toClientError)
  // The refresh is for the next call. The resolver of this one has run.
  if (!mayResend) return false
  let failure = await refreshing
  if (failure && call.op.type !== 'mutation' && (!isRejection(failure) || failure.code === 'UNKNOWN')) {
    attempt.show(toCallError(failure, rejected))
    failure = await waitUntilDecided(call.session, call.signal)
  }
  if (failure) throw toCallError(failure, rejected)
  return true
}

/** Returns the error once waiting can't change the state, or on abort. Listens, so the client retries. */
export function waitUntilDecided(session: LinkSession, signal: AbortSignal): Promise<AuthClientError | null> {
  return new Promise((resolve) => {
    const check = () => {
      const { shown, pageError } = session.get()
      let error = shown.error === pageError ? null : shown.error
      const isSettled = error ? isDecided(error) : shown.status === 'authenticated'
      if (shown.status === 'unauthenticated') error = clientError('SESSION_NOT_FOUND')
      else if (!isSettled && !signal.aborted) return
      unsubscribe()
      resolve(error)
    }
    const unsubscribe = session.subscribe(check)
    signal.addEventListener('abort', check)
    check()
  })
}

import { isTokenReason } from '@sallyport/core/internal/protocol'
import { clientError, isRejection, toClientError } from '../client/auth-client-error.ts'
import { authDataOf, type CallError, toCallError } from './call-error.ts'
import { decidedState } from './decided-state.ts'
import type { Call } from './send-call.ts'

/** The latest attempt of a call, which the server rejected. */
interface Attempt {
  readonly generation: number
  /** Whether the call may be sent again although it has run. */
  readonly isResumable: boolean
  /** Whether a rejection caused this attempt: it is sent again only if its JWT was superseded meanwhile. */
  readonly isReplay: boolean
  /** Called if the call must wait until its JWT can be renewed. */
  onOutage(error: CallError): void
}

/**
 * Waits for a newer JWT after a rejection, and returns whether to send the call again.
 *
 * @throws TRPCClientError why there is no newer JWT
 */
export async function prepareReplay(call: Call, rejected: CallError, attempt: Attempt): Promise<boolean> {
  const { session } = call
  const { generation, isResumable, isReplay } = attempt
  const { reason = '', replay } = authDataOf(rejected)
  const mayResend = replay || isResumable
  if (!isTokenReason(reason)) return false
  if (isReplay) return mayResend && session.isOvertaken(generation)
  if (mayResend) await refresh(call, rejected, attempt)
  // For the next call: the resolver of this one has run.
  else session.refreshAfter(generation).catch(() => {})
  return mayResend
}

async function refresh(call: Call, rejected: CallError, { generation, onOutage }: Attempt): Promise<void> {
  const { session, op, signal } = call
  let failure = await session.refreshAfter(generation).then(() => null, toClientError)
  const isTransient = failure && (!isRejection(failure) || failure.code === 'UNKNOWN')
  if (failure && isTransient && op.type !== 'mutation') {
    onOutage(toCallError(failure, rejected))
    const { status, error } = await decidedState(session, signal)
    failure = status === 'unauthenticated' ? clientError('SESSION_NOT_FOUND') : error
  }
  if (failure) throw toCallError(failure, rejected)
}

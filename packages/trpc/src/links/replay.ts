import { isTokenReason } from '@sallyport/core/protocol'
import type { TRPCClientError } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { signedOut, toClientError } from '../client/auth-client-error.ts'
import { authDataOf, isRetryable, toCallError } from './call-error.ts'
import { decidedState } from './decided-state.ts'
import type { Call } from './send-call.ts'

/**
 * Resolves with true once a rejected call can be sent again: once with a newer JWT, and again only if that one was superseded meanwhile.
 *
 * @throws TRPCClientError why there is no newer JWT
 */
export type Replay<Router extends AnyTRPCRouter> = (
  rejected: TRPCClientError<Router>,
  attempt: {
    readonly generation: number
    /** Whether the server accepted the JWT before: this is the first rejection of another one. */
    readonly wasAccepted: boolean
    /** Whether the call may be sent again although it has run. */
    readonly isResumable: boolean
  },
) => Promise<boolean>

/**
 * The replay of one call.
 *
 * @param onOutage called when the call has to wait until its JWT can be renewed
 */
export function createReplay<Router extends AnyTRPCRouter>(
  { session, op, signal }: Call<Router>,
  onOutage: (error: TRPCClientError<Router>) => void,
): Replay<Router> {
  let isReplayed = false

  async function refresh(generation: number, rejected: TRPCClientError<Router>): Promise<void> {
    let failure = await session.refreshAfter(generation).then(() => null, toClientError)
    if (failure && isRetryable(failure) && op.type !== 'mutation') {
      onOutage(toCallError(failure, rejected))
      const { status, error } = await decidedState(session, signal)
      failure = status === 'unauthenticated' ? signedOut() : error
    }
    if (failure) throw toCallError(failure, rejected)
  }

  return async (rejected, { generation, wasAccepted, isResumable }) => {
    const { reason = '', replay } = authDataOf(rejected)
    const mayResend = replay || isResumable
    if (wasAccepted) isReplayed = false
    if (!isTokenReason(reason)) return false
    if (isReplayed) return mayResend && session.isOvertaken(generation)
    isReplayed = true
    if (mayResend) await refresh(generation, rejected)
    // For the next call: the resolver of this one has run.
    else session.refreshAfter(generation).catch(() => {})
    return mayResend
  }
}

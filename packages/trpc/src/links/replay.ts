import { isTokenReason } from '@sallyport/core/protocol'
import type { TRPCClientError } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { signedOut, toClientError } from '../client/auth-client-error.ts'
import { authDataOf, isUndecided, toCallError } from './call-error.ts'
import { decidedState } from './decided-state.ts'
import type { Call } from './send-call.ts'

/** Decides whether a call whose JWT was rejected is sent again. */
export interface Replay<Router extends AnyTRPCRouter> {
  /**
   * Resolves with true once the call can be sent again: once with a newer JWT, and again only if that one was superseded meanwhile.
   *
   * @throws TRPCClientError why there is no newer JWT
   */
  isReady(
    rejected: TRPCClientError<Router>,
    options: { generation: number; isResumable: boolean },
  ): Promise<boolean>
  /** The server accepted the JWT: a later rejection is the first of another one. */
  reset(): void
}

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
    if (failure && isUndecided(failure) && op.type !== 'mutation') {
      onOutage(toCallError(failure, rejected))
      const { status, error } = await decidedState(session, signal)
      failure = status === 'unauthenticated' ? signedOut() : error
    }
    if (failure) throw toCallError(failure, rejected)
  }

  return {
    async isReady(rejected, { generation, isResumable }) {
      const { reason = '', replay } = authDataOf(rejected)
      const mayResend = replay || isResumable
      if (!isTokenReason(reason)) return false
      if (isReplayed) return Boolean(mayResend && (await session.isOvertaken(generation)))
      isReplayed = true
      if (mayResend) await refresh(generation, rejected)
      // For the next call: the resolver of this one has run.
      else session.refreshAfter(generation).catch(() => {})
      return mayResend ?? false
    },
    reset() {
      isReplayed = false
    },
  }
}

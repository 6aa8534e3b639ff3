import { isUnavailable } from '@sallyport/core/internal/server'
import { TRPCError } from '@trpc/server'
import { isTRPCError } from '../call/call-outcome.ts'
import { isCallRefusal, toCallerError } from '../call/call-refusal.ts'
import type { Runner } from './runner.ts'

/**
 * Makes a runner of a way to call. Whoever calls is told of a refusal what they can use of it.
 *
 * @param onError is told of every call whose outcome is not known
 */
export function toRunner(run: Runner['run'], onError: (error: unknown) => void = () => {}): Runner {
  return {
    async run(call) {
      try {
        call.signal?.throwIfAborted()
        return await run(call)
      } catch (error) {
        if (call.signal?.aborted && error === call.signal.reason) throw toCallerAbort(error)
        if (!isCallRefusal(error)) throw error
        const told = toCallerError(error, call)
        if (isUnavailable(told)) onError(error)
        throw told
      }
    },
  }
}

/** What a call ends with whose caller has left: why the session of an action ended, where that is the reason. */
function toCallerAbort(reason: unknown): Error {
  return isTRPCError(reason) ? reason : new TRPCError({ code: 'CLIENT_CLOSED_REQUEST', cause: reason })
}

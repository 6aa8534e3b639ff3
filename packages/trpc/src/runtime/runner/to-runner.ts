import { AuthError, ConfigurationError, isUndecided } from '@sallyport/core'
import { TRPCError } from '@trpc/server'
import { type CallRejection, isCallRejection } from '../call/call-rejection.ts'
import type { Runner, RunnerCall } from './runner.ts'

/**
 * Creates a runner, which converts a rejection to the error that callers see.
 *
 * @param onError called with every call whose outcome is unknown
 */
export function toRunner(run: Runner['run'], onError: (error: unknown) => void = () => {}): Runner {
  return {
    async run(call) {
      try {
        call.signal?.throwIfAborted()
        return await run(call)
      } catch (error) {
        if (call.signal?.aborted && error === call.signal.reason) throw toAbortError(error)
        if (!isCallRejection(error)) throw error
        const callerError = toCallerError(error, call)
        if (isUndecided(callerError)) onError(error)
        throw callerError
      }
    },
  }
}

/** Keeps the reason why the session of an action ended. */
function toAbortError(reason: unknown): Error {
  // By its name: the app may have another copy of tRPC.
  if (reason instanceof Error && reason.name === 'TRPCError') return reason
  return new TRPCError({ code: 'CLIENT_CLOSED_REQUEST', cause: reason })
}

/** The user can't fix a rejection of the service, and 401 would sign them out. So it is 503. */
function toCallerError(cause: CallRejection, { type, path }: RunnerCall): Error {
  switch (cause.code) {
    case 'FUNCTION_NOT_FOUND':
      return new ConfigurationError(`There is no internal ${type} ${path}`, { cause })
    case 'KEY_REUSED': {
      const message = 'The idempotency key was used for another call'
      return new TRPCError({ code: 'CONFLICT', message, cause })
    }
    case 'PAYLOAD_TOO_LARGE': {
      const message = 'The input of the internal function is too large'
      return new TRPCError({ code: 'PAYLOAD_TOO_LARGE', message, cause })
    }
    default:
      return new AuthError('SESSIONS_UNAVAILABLE', { cause })
  }
}

import { AuthError, ConfigurationError } from '@sallyport/core'
import { digestBody, isUnavailable, requireClaimText } from '@sallyport/core/internal/server'
import { TRPCError } from '@trpc/server'
import { type CallLimits, callSlots, checkLimits } from '../call/call-limits.ts'
import { CallRejection, isCallRejection } from '../call/call-rejection.ts'
import { type Deadline, startDeadline } from '../call/deadline.ts'
import type { Runner, RunnerCall } from './runner.ts'

export interface EncodedCall extends RunnerCall {
  readonly body: Uint8Array<ArrayBuffer>
  readonly bodyDigest: string
  readonly deadline: Deadline
}

/**
 * Creates a runner, which encodes and limits calls, and converts a rejection to the error that callers see.
 *
 * @param options.onError called with every call whose outcome is unknown
 * @throws ConfigurationError naming the invalid limit
 */
export function createRunner(
  { onError, ...limits }: CallLimits & { readonly onError?: (error: unknown) => void },
  execute: (call: EncodedCall) => Promise<unknown>,
): Runner {
  const { timeoutMs, maxConcurrent, maxBodyBytes } = checkLimits(limits)
  const takeSlot = callSlots(maxConcurrent)

  async function run(call: RunnerCall): Promise<unknown> {
    call.signal?.throwIfAborted()
    const { type, path, input, idempotencyKey } = call
    if (idempotencyKey !== undefined) requireClaimText('idempotencyKey', idempotencyKey)
    const body = new TextEncoder().encode(JSON.stringify({ type, path, input }))
    if (body.byteLength > maxBodyBytes) throw new CallRejection('PAYLOAD_TOO_LARGE')
    const release = takeSlot()
    const deadline = startDeadline(timeoutMs, call.signal)
    const execution = digestBody(body).then((bodyDigest) => execute({ ...call, body, bodyDigest, deadline }))
    // A function keeps its slot until it ends, even without a caller.
    execution.then(release, release)
    return deadline.wait(execution).finally(deadline.end)
  }

  return {
    async run(call) {
      try {
        return await run(call)
      } catch (error) {
        if (call.signal?.aborted && error === call.signal.reason) throw toAbortError(error)
        if (!isCallRejection(error)) throw error
        const callerError = toCallerError(error, call)
        if (isUnavailable(callerError)) onError?.(error)
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
  if (cause.code === 'FUNCTION_NOT_FOUND')
    return new ConfigurationError(`There is no internal ${type} ${path}`, { cause })
  if (cause.code === 'KEY_REUSED')
    return new TRPCError({
      code: 'CONFLICT',
      message: 'The idempotency key was used for another call',
      cause,
    })
  if (cause.code === 'PAYLOAD_TOO_LARGE')
    return new TRPCError({
      code: cause.code,
      message: 'The input of the internal function is too large',
      cause,
    })
  return new AuthError('SESSIONS_UNAVAILABLE', { cause })
}

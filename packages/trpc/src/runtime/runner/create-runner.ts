import { type AuthConfig, AuthError, ConfigurationError, type FailureCode } from '@sallyport/core'
import type { ServiceCall } from '@sallyport/core/internal/server'
import { digestBody, isUnavailable, reportOnce, requireClaimText } from '@sallyport/core/internal/server'
import { TRPCError } from '@trpc/server'
import type { CallLimits, Deadline } from '../call/call-limits.ts'
import { checkLimits, limitCalls, startDeadline } from '../call/call-limits.ts'
import { CALL_REJECTIONS, CallRejection, isCallRejection } from '../call/call-rejection.ts'
import { decodeResult } from '../call/envelope.ts'
import type { InternalFunctions } from '../functions/internal-functions.ts'
import type { Runner, RunnerCall } from './runner.ts'

/**
 * Creates a runner that calls internal functions in this process. As with `httpRunner`, input and result
 * are sent as JSON, Step 2 runs for the acting user, and the limits are the same.
 *
 * @throws ConfigurationError naming the invalid limit
 * @example const runner = localRunner(internalFunctions)
 */
export function localRunner(functions: InternalFunctions, limits: CallLimits = {}): Runner {
  return createRunner({ ...limits, config: functions.config }, async ({ deadline: { signal }, ...call }) =>
    decodeResult(JSON.parse(await functions.execute({ ...call, token: null, signal }))),
  )
}

export interface EncodedCall extends ServiceCall {
  readonly input: unknown
  readonly body: Uint8Array<ArrayBuffer>
  readonly bodyDigest: string
  readonly deadline: Deadline
}

interface RunnerOptions extends CallLimits {
  readonly config: AuthConfig
  /** The code of a call without a result. By default, that of its cause. */
  readonly code?: FailureCode
}

/** Encodes and limits calls, and converts rejections to the errors that callers see. */
export function createRunner(
  { config, code, ...limits }: RunnerOptions,
  execute: (call: EncodedCall) => Promise<unknown>,
): Runner {
  const { timeoutMs, maxConcurrent, maxBodyBytes } = checkLimits(limits)
  const runLimited = limitCalls(maxConcurrent)

  async function run({ type, path, input, actor, signal, idempotencyKey }: RunnerCall): Promise<unknown> {
    signal?.throwIfAborted()
    if (idempotencyKey !== undefined) requireClaimText('idempotencyKey', idempotencyKey)
    const body = new TextEncoder().encode(JSON.stringify({ type, path, input }))
    if (body.byteLength > maxBodyBytes) throw new CallRejection('PAYLOAD_TOO_LARGE')
    const deadline = startDeadline(timeoutMs, signal)
    const call = { type, path, input, actor, idempotencyKey: idempotencyKey ?? null, body, deadline }
    const execution = runLimited(async () => execute({ ...call, bodyDigest: await digestBody(body) }))
    return deadline.wait(execution).finally(deadline.end)
  }

  return {
    run: (call) =>
      run(call).catch((error: unknown) => {
        const callerError = toCallerError(error, call)
        if (isCallRejection(error) && isUnavailable(callerError))
          reportOnce(callerError, { code, path: call.path, step: 'procedure' }, config)
        throw callerError
      }),
  }
}

const MESSAGES = {
  KEY_REUSED: 'The idempotency key was used for another call. Use a new key',
  PAYLOAD_TOO_LARGE: 'The input of the internal function is too large. Send less, or raise maxBodyBytes',
}

function toCallerError(error: unknown, { type, path, signal }: RunnerCall): unknown {
  if (signal?.aborted && error === signal.reason) {
    // Keep the reason why the session of an action ended. The app may have another copy of tRPC.
    if (error instanceof Error && error.name === 'TRPCError') return error
    return new TRPCError({ code: 'CLIENT_CLOSED_REQUEST', cause: error })
  }
  if (!isCallRejection(error)) return error
  const { code } = error
  if (code === 'FUNCTION_NOT_FOUND')
    return new ConfigurationError(
      `The internal ${type} ${path} was not found. Check the router and getAuth of defineInternalFunctions`,
      { cause: error },
    )
  if (code === 'KEY_REUSED' || code === 'PAYLOAD_TOO_LARGE')
    return new TRPCError({ code: CALL_REJECTIONS[code], message: MESSAGES[code], cause: error })
  // The user can't fix a rejection of the service, and 401 would sign them out.
  return new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
}

import { digestBody, requireClaimText } from '@sallyport/core/service'
import { decodeBody, encodeBody } from '../call/call-body.ts'
import { type CallLimits, callSlots, checkLimits } from '../call/call-limits.ts'
import { startDeadline } from '../call/deadline.ts'
import { takeResult } from '../call/take-result.ts'
import type { InternalFunctions } from '../functions/internal-functions.ts'
import type { Runner } from './runner.ts'
import { toRunner } from './to-runner.ts'

/**
 * Calls internal functions in this process. As with `httpRunner`, input and result cross as JSON, Step 2 runs for the acting user, and
 * the limits are the same.
 *
 * @throws ConfigurationError naming the invalid limit
 */
export function localRunner(functions: InternalFunctions, limits: CallLimits = {}): Runner {
  const { timeoutMs, maxConcurrent, maxBodyBytes } = checkLimits(limits)
  const takeSlot = callSlots(maxConcurrent)

  return toRunner(async (call) => {
    const { actor, idempotencyKey = null } = call
    // The token of `httpRunner` has the same limit.
    if (idempotencyKey !== null) requireClaimText('idempotencyKey', idempotencyKey)
    const body = encodeBody(call, maxBodyBytes)
    const release = takeSlot()
    const deadline = startDeadline(timeoutMs, call.signal)
    const execute = async () =>
      functions.execute({
        ...decodeBody(body),
        actor,
        idempotencyKey,
        bodyDigest: await digestBody(body),
        token: null,
        // Another call with the same key may wait for the result.
        signal: idempotencyKey === null ? deadline.signal : undefined,
      })
    const execution = execute()
    // A function keeps its slot until it ends, even without a caller.
    execution.then(release, release)
    return takeResult(JSON.parse(await deadline.wait(execution).finally(deadline.end)))
  })
}

import { digestBody, requireClaimText } from '@sallyport/core/internal/server'
import { decodeBody, encodeBody } from '../call/call-body.ts'
import { type CallLimits, checkLimits } from '../call/call-limits.ts'
import { type CallOutcome, takeResult } from '../call/call-outcome.ts'
import { callSlots } from '../call/call-slots.ts'
import { startDeadline } from '../call/deadline.ts'
import type { InternalFunctions } from '../functions/internal-functions.ts'
import type { Runner, RunnerCall } from './runner.ts'
import { toRunner } from './to-runner.ts'

/**
 * Calls internal functions in this process. All that differs from `httpRunner` is the way: what goes in and comes out is JSON, the acting
 * user is checked again, and the limits are the same.
 *
 * @throws ConfigurationError naming the limit that cannot work
 */
export function localRunner(functions: InternalFunctions, limits: CallLimits = {}): Runner {
  const { timeoutMs, maxConcurrent, maxBodyBytes } = checkLimits(limits)
  const takeSlot = callSlots(maxConcurrent)

  async function run(call: RunnerCall): Promise<string> {
    // As in the token that it would cross with.
    requireClaimText('idempotencyKey', call.idempotencyKey ?? '-')
    const body = encodeBody(call, maxBodyBytes)
    const release = takeSlot()
    const deadline = startDeadline(timeoutMs, call.signal)
    const { actor, idempotencyKey = null } = call
    const execute = async () =>
      functions.execute({
        ...decodeBody(body),
        actor,
        idempotencyKey,
        bodyDigest: await digestBody(body),
        token: null,
        // Another call with the same key may wait for it.
        signal: idempotencyKey === null ? deadline.signal : undefined,
      })
    const execution = execute()
    // What nobody waits for any more still takes its place.
    execution.then(release, release)
    return deadline.wait(execution).finally(deadline.end)
  }

  return toRunner(async (call) => {
    const outcome: CallOutcome = JSON.parse(await run(call))
    return takeResult(outcome)
  })
}

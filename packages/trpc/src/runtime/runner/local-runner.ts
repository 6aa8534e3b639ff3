import type { CallLimits } from '../call/call-limits.ts'
import { takeResult } from '../call/envelope.ts'
import type { InternalFunctions } from '../functions/internal-functions.ts'
import { createRunner } from './create-runner.ts'
import type { Runner } from './runner.ts'

/**
 * Calls internal functions in this process. As with `httpRunner`, input and result cross as JSON, Step 2 runs for the acting user, and
 * the limits are the same.
 *
 * @throws ConfigurationError naming the invalid limit
 */
export function localRunner(functions: InternalFunctions, limits: CallLimits = {}): Runner {
  return createRunner(limits, async ({ deadline: { signal }, idempotencyKey = null, ...call }) =>
    takeResult(JSON.parse(await functions.execute({ ...call, idempotencyKey, token: null, signal }))),
  )
}

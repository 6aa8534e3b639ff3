import { requirePositive } from '@sallyport/core/internal/server'

/** What one side of internal calls allows; both sides have the same defaults. */
export interface CallLimits {
  /** Milliseconds for a call, from beginning to end. @default 10_000 */
  readonly timeoutMs?: number
  /** Most calls at a time; another one is 503 at once. @default 100 */
  readonly maxConcurrent?: number
  /** Most bytes of what a function is called with. @default 1_048_576 */
  readonly maxBodyBytes?: number
  /** Most bytes of what it answers. @default 1_048_576 */
  readonly maxResponseBytes?: number
}

const MEBIBYTE = 1_048_576
/** A timer that is set to more fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Checks the limits and fills in the defaults.
 *
 * @throws ConfigurationError naming the one that cannot work
 */
export function checkLimits({
  timeoutMs = 10_000,
  maxConcurrent = 100,
  maxBodyBytes = MEBIBYTE,
  maxResponseBytes = MEBIBYTE,
}: CallLimits): Required<CallLimits> {
  return {
    timeoutMs: requirePositive('timeoutMs', timeoutMs, LONGEST_TIMER_MS),
    maxConcurrent: requirePositive('maxConcurrent', maxConcurrent),
    maxBodyBytes: requirePositive('maxBodyBytes', maxBodyBytes),
    maxResponseBytes: requirePositive('maxResponseBytes', maxResponseBytes),
  }
}

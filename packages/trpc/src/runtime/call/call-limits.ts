import { requirePositive } from '@sallyport/core/internal/server'
import { CallRejection } from './call-rejection.ts'

/** The limits of one side of internal calls. Both sides have the same defaults. */
export interface CallLimits {
  /** Milliseconds for a whole call. @default 10_000 */
  readonly timeoutMs?: number
  /** Concurrent calls. One more is 503 at once. @default 100 */
  readonly maxConcurrent?: number
  /** Bytes of the request body. @default 1_048_576 */
  readonly maxBodyBytes?: number
  /** Bytes of the response body. @default 1_048_576 */
  readonly maxResponseBytes?: number
}

const MEBIBYTE = 1_048_576
/** A longer timer fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Validates the limits and fills in the defaults.
 *
 * @throws ConfigurationError naming the invalid limit
 */
export function checkLimits({
  timeoutMs = 10_000,
  maxConcurrent = 100,
  maxBodyBytes = MEBIBYTE,
  maxResponseBytes = MEBIBYTE,
}: CallLimits): Required<CallLimits> {
  return {
    timeoutMs: requirePositive('timeoutMs', timeoutMs, MAX_TIMER_MS),
    maxConcurrent: requirePositive('maxConcurrent', maxConcurrent),
    maxBodyBytes: requirePositive('maxBodyBytes', maxBodyBytes),
    maxResponseBytes: requirePositive('maxResponseBytes', maxResponseBytes),
  }
}

/**
 * Limits the concurrent calls.
 *
 * @returns takes a slot and returns the function that releases it; throws CallRejection `UNDECIDED` if none is free
 */
export function callSlots(maxConcurrent: number): () => () => void {
  let taken = 0
  return () => {
    if (taken >= maxConcurrent)
      throw new CallRejection('UNDECIDED', { cause: new Error('Too many concurrent calls') })
    taken++
    return () => {
      taken--
    }
  }
}

import { backOff as pauseAfter } from '@sallyport/core/internal/protocol'

/** The longest pause between two attempts, in milliseconds, unless the server asks for a longer one. */
const LONGEST_MS = 30_000

/** The longest delay that a timer takes, in milliseconds: with a longer one it rings at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1

/**
 * How long to pause after so many attempts that got nowhere, in milliseconds: twice as long each time, no less than the server asks for,
 * and never all clients at once. Each 503 of ours asks for the same second.
 */
export function backOff(attempts: number, retryAfterSeconds: number | null): number {
  const atLeastMs = (retryAfterSeconds ?? 0) * 1_000
  return Math.min(pauseAfter(attempts, { minMs: 1_000, maxMs: LONGEST_MS, atLeastMs }), LONGEST_TIMER_MS)
}

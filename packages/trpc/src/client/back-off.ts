import { backOff as pauseAfter } from '@sallyport/core/internal/protocol'

const MAX_PAUSE_MS = 30_000

/** The longest delay of a timer, in milliseconds: with a longer one it fires at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1

/**
 * Returns the pause after failed attempts, in milliseconds: 0.5 to 1 s at first, doubled each time up to 30 s,
 * random so that clients don't retry at once, and at least as long as the server asks for.
 */
export function backOff(failures: number, retryAfterSeconds: number | null): number {
  const atLeastMs = (retryAfterSeconds ?? 0) * 1_000
  return Math.min(pauseAfter(failures, { minMs: 1_000, maxMs: MAX_PAUSE_MS, atLeastMs }), MAX_TIMER_MS)
}

/** Resolves after some milliseconds, or when the function passed to `subscribe` is called. */
export function pause(
  milliseconds: number,
  subscribe: (end: () => void) => () => unknown = () => () => {},
): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      unsubscribe()
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    const unsubscribe = subscribe(end)
  })
}

/** The longest delay of a timer. With a longer one, it fires at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1

/**
 * Returns a pause in ms: 0.5 to 1 s, doubled up to 30 s, or longer if the server requests it. Core's function
 * of this name has options, which would enlarge every app's bundle.
 */
export function backOff(failures: number, retryAfterSeconds?: number | null): number {
  const half = Math.min(250 * 2 ** failures, 15_000)
  const atLeast = Math.max(half, (retryAfterSeconds ?? 0) * 1_000)
  return Math.min(atLeast + half * Math.random(), MAX_TIMER_MS)
}

/** Resolves after some milliseconds, or when the function passed to `subscribe` is called. */
export function pause(milliseconds: number, subscribe: (end: () => void) => () => unknown): Promise<void> {
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

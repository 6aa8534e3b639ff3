/**
 * Waits.
 *
 * @param subscribe how to learn of what ends the wait early
 */
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

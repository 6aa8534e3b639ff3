import type { TestClock } from '@sallyport/core/testing'
import { vi } from 'vitest'

/** Moves the clocks of the server and of this process, which the clients use. */
export type Travel = (seconds: number) => void

/** Makes clocks movable. Timers are unaffected. */
export function shiftClocks(clocks: readonly TestClock[]): Travel {
  const now = Date.now.bind(Date)
  const monotonic = performance.now.bind(performance)
  let shift = 0
  vi.spyOn(Date, 'now').mockImplementation(() => now() + shift)
  vi.spyOn(performance, 'now').mockImplementation(() => monotonic() + shift)
  return (seconds) => {
    shift += seconds * 1_000
    for (const clock of clocks) clock.advance(seconds)
  }
}

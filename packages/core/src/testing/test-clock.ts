/** A clock that moves only when advanced. */
export interface TestClock {
  now(): Date
  /** Moves the clock; a negative number moves it back. */
  advance(seconds: number): void
}

/** Creates a clock that starts now or at a given date. */
export function createTestClock(start: Date = new Date()): TestClock {
  let time = start.getTime()
  return {
    now: () => new Date(time),
    advance(seconds) {
      time += seconds * 1000
    },
  }
}

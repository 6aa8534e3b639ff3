/** A clock that stands still until it is moved. */
export interface TestClock {
  /** Where it stands. */
  now(): Date
  /** Moves the clock by a number of seconds; a negative number moves it back. */
  advance(seconds: number): void
}

/** A {@link TestClock} that starts at the present, or at the given moment. */
export function createTestClock(start: Date = new Date()): TestClock {
  let time = start.getTime()
  return {
    now: () => new Date(time),
    advance(seconds) {
      time += seconds * 1000
    },
  }
}

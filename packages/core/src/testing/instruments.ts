import type { SessionStore } from '../session/session.ts'

/** A clock that moves only when advanced. */
export interface TestClock {
  now(): Date
  /** Moves the clock; a negative number moves it back. */
  advance(seconds: number): void
}

export function createTestClock(start: Date = new Date()): TestClock {
  let time = start.getTime()
  return {
    now: () => new Date(time),
    advance(seconds) {
      time += seconds * 1000
    },
  }
}

/** Records how many lookups a store has done. */
export interface LookupCounter {
  readonly sessions: SessionStore
  /** Lookups since the last {@link LookupCounter.reset}. */
  readonly count: number
  reset(): void
}

export function countLookups(store: SessionStore): LookupCounter {
  const findSession: SessionStore['findSession'] = (key) => {
    counter.count++
    return store.findSession(key)
  }
  const reset = () => {
    counter.count = 0
  }
  const counter = { sessions: { ...store, findSession }, count: 0, reset }
  return counter
}

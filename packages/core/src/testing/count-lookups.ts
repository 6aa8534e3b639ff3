import type { SessionStore } from '../session/session-store.ts'

/** Counts what Step 2 asks of the database. */
export interface LookupCounter {
  /** The store to use instead of the counted one. */
  readonly sessions: SessionStore
  /** Lookups since the last {@link LookupCounter.reset}. */
  readonly count: number
  /** Begins to count from 0 again. */
  reset(): void
}

/** Wraps a store so that its lookups are counted. */
export function countLookups(store: SessionStore): LookupCounter {
  let count = 0
  return {
    sessions: {
      ...store,
      findSession(key) {
        count++
        return store.findSession(key)
      },
    },
    get count() {
      return count
    },
    reset() {
      count = 0
    },
  }
}

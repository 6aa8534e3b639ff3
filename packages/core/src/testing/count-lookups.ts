import type { SessionStore } from '../session/session-store.ts'

export interface LookupCounter {
  readonly sessions: SessionStore
  /** Lookups since the last {@link LookupCounter.reset}. */
  readonly count: number
  reset(): void
}

/** Wraps a store to count its lookups. */
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

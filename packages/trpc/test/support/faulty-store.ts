import type { KeySet, RateLimitStore, SessionReader } from '@sallyport/core'

type Answer = ReturnType<SessionReader['findSession']>

/** A store of sessions whose answers a test can replace. */
export interface FaultyStore extends SessionReader {
  /** Answers in place of the database; it may ask `find` for the true answer. Null leaves the database alone. */
  answer: ((find: () => Answer) => Answer) | null
}

export function faultyStore(sessions: SessionReader): FaultyStore {
  const store: FaultyStore = {
    answer: null,
    findSession(key) {
      const find = () => sessions.findSession(key)
      return store.answer === null ? find() : store.answer(find)
    },
  }
  return store
}

/** A key set that counts look-ups, and can fail or take its time. */
export interface FaultyKeySet extends KeySet {
  /** Look-ups of a key, each of which means that Step 1 did its work. */
  lookups: number
  fault: Error | null
  /** Every look-up waits for this first. */
  delay: Promise<void>
}

export function faultyKeySet(keySet: KeySet): FaultyKeySet {
  const faulty: FaultyKeySet = {
    version: keySet.version,
    algorithms: keySet.algorithms,
    ready: keySet.ready,
    status: keySet.status,
    keys: keySet.keys,
    subscribe: keySet.subscribe,
    lookups: 0,
    fault: null,
    delay: Promise.resolve(),
    async findKey(kid) {
      faulty.lookups++
      await faulty.delay
      if (faulty.fault !== null) throw faulty.fault
      return keySet.findKey(kid)
    },
  }
  return faulty
}

/** A store of counts that can fail. */
export interface FaultyLimits extends RateLimitStore {
  /** Fails in place of the count. Null leaves it alone. */
  fault: (() => Promise<never>) | null
}

export function faultyLimits(limits: RateLimitStore): FaultyLimits {
  const faulty: FaultyLimits = {
    fault: null,
    consume: (key, limit) => (faulty.fault === null ? limits.consume(key, limit) : faulty.fault()),
  }
  return faulty
}

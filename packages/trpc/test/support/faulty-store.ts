import type { KeySet, RateLimitStore, SessionReader } from '@sallyport/core'

type Answer = ReturnType<SessionReader['findSession']>

/** A session store whose results a test can replace. */
export interface FaultyStore extends SessionReader {
  /** Replaces the database's result. It may call `find` for the real one. Null uses the database. */
  answer: ((find: () => Answer) => Answer) | null
}

export function faultyStore(sessions: SessionReader): FaultyStore {
  const store: FaultyStore = {
    answer: null,
    meter: sessions.meter,
    findSession(key) {
      const find = () => sessions.findSession(key)
      return store.answer === null ? find() : store.answer(find)
    },
  }
  return store
}

/** A key set that counts lookups, and can fail or be slow. */
export interface FaultyKeySet extends KeySet {
  /** The number of key lookups. Each means that Step 1 verified a JWT. */
  lookups: number
  fault: Error | null
  /** Every lookup waits for this first. */
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
  /** Fails instead of counting. Null counts normally. */
  fault: (() => Promise<never>) | null
}

export function faultyLimits(limits: RateLimitStore): FaultyLimits {
  const faulty: FaultyLimits = {
    fault: null,
    consume: (key, limit) => (faulty.fault === null ? limits.consume(key, limit) : faulty.fault()),
  }
  return faulty
}

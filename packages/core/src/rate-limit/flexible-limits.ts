import type { RateLimiterPostgres, RateLimiterSQLite } from 'rate-limiter-flexible'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateLimit, RateLimitStore } from './rate-limit.ts'

type Limiter = RateLimiterMemory | RateLimiterSQLite | RateLimiterPostgres

interface CountedStore {
  createLimiter(options: RateLimit & { keyPrefix: string }): Limiter
  /**
   * Subtracts one from the count of a key, never below zero. Changes nothing unless a window of the key ends
   * after `now` and by `lastEnd`, both in milliseconds. The library's own `reward` would grant extra points
   * once the window has ended.
   */
  subtract(limiter: Limiter, key: string, window: { now: number; lastEnd: number }): Promise<void>
}

/** A store that can give attempts back. */
export type FlexibleLimits = Required<RateLimitStore>

/** Creates a store with `rate-limiter-flexible`, with one limiter per limit. */
export function flexibleLimits({ createLimiter, subtract }: CountedStore): FlexibleLimits {
  const limiters = new Map<string, Limiter>()

  function limiterOf(limit: RateLimit): Limiter {
    // Also part of the keys: two limits on one key must not share a counter.
    const keyPrefix = `${limit.points}/${limit.duration}`
    const limiter = limiters.get(keyPrefix) ?? createLimiter({ ...limit, keyPrefix })
    limiters.set(keyPrefix, limiter)
    return limiter
  }

  function giveBack(key: string, limit: RateLimit, now = Date.now()): Promise<void> {
    return subtract(limiterOf(limit), key, { now, lastEnd: now + limit.duration * 1000 })
  }

  async function consume(key: string, limit: RateLimit): Promise<number | null> {
    const limiter = limiterOf(limit)
    const countedAt = Date.now()
    try {
      await limiter.consume(key)
      return null
    } catch (rejection) {
      // The library rejects with the count after too many attempts, and with an error if it could not count.
      if (!(rejection instanceof RateLimiterRes)) throw rejection
      if (rejection.consumedPoints > 0) {
        // The store counted the rejected attempt too, which would outweigh attempts that are given back.
        await giveBack(key, limit, countedAt)
        return toSeconds(rejection)
      }
    }
    // The limiter rejected from its memory, which misses attempts that were given back, here or elsewhere.
    const stored = await limiter.get(key)
    if (stored !== null && stored.consumedPoints >= limit.points) return toSeconds(stored)
    if ('deleteInMemoryBlockedAll' in limiter) limiter.deleteInMemoryBlockedAll()
    return consume(key, limit)
  }

  return { consume, giveBack }
}

/** Creates a store in memory, for tests and for an app of one process. */
export function memoryLimits(): FlexibleLimits {
  return flexibleLimits({
    createLimiter: (options) => new RateLimiterMemory(options),
    async subtract(limiter, key) {
      const counted = await limiter.get(key)
      if (counted !== null && counted.consumedPoints > 0 && counted.msBeforeNext > 0)
        await limiter.reward(key)
    },
  })
}

function toSeconds({ msBeforeNext }: RateLimiterRes): number {
  return Math.max(1, Math.ceil(msBeforeNext / 1000))
}

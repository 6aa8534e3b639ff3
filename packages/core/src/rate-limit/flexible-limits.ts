import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateLimit, RateLimitStore } from './rate-limit.ts'

/** Counts with `rate-limiter-flexible`, one limiter for each limit that is asked for. */
export function flexibleLimits(
  createLimiter: (options: RateLimit & { keyPrefix: string }) => RateLimiterAbstract,
): RateLimitStore {
  const limiters = new Map<string, RateLimiterAbstract>()

  return {
    async consume(key, limit) {
      // In the keys too, so that two limits of one key do not count together.
      const keyPrefix = `${limit.points}/${limit.duration}`
      const limiter = limiters.get(keyPrefix) ?? createLimiter({ ...limit, keyPrefix })
      limiters.set(keyPrefix, limiter)
      try {
        await limiter.consume(key)
        return null
      } catch (refusal) {
        // The library rejects with the count itself where there were too many, and with an error where it could not count.
        if (!(refusal instanceof RateLimiterRes)) throw refusal
        return Math.max(1, Math.ceil(refusal.msBeforeNext / 1000))
      }
    },
  }
}

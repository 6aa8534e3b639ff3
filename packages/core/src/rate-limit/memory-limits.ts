import { RateLimiterMemory } from 'rate-limiter-flexible'
import { type FlexibleLimits, flexibleLimits } from './flexible-limits.ts'

/** Counts in this process only. For tests, and for an app of one process. */
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

import { RateLimiterMemory } from 'rate-limiter-flexible'
import { flexibleLimits } from './flexible-limits.ts'
import type { RateLimitStore } from './rate-limit.ts'

/** Counts in this process alone. For tests, and for an app of one process. */
export function memoryLimits(): RateLimitStore {
  return flexibleLimits((options) => new RateLimiterMemory(options))
}

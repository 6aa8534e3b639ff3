import type { Pool } from 'pg'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { orUnavailable } from '../database/postgres-errors.ts'
import { flexibleLimits } from './flexible-limits.ts'
import type { RateLimitStore } from './rate-limit.ts'

/** Counts in the table `rateLimit`, for all processes that share the database. */
export function postgresLimits(pool: Pool): RateLimitStore {
  const limits = flexibleLimits(
    (options) =>
      new RateLimiterPostgres({
        ...options,
        // Whoever has had enough is refused without another write.
        inMemoryBlockOnConsumed: options.points,
        storeClient: pool,
        storeType: 'pool',
        tableName: 'rateLimit',
        tableCreated: true,
        clearExpiredByTimeout: false,
      }),
  )
  return { consume: (key, limit) => orUnavailable(limits.consume(key, limit)) }
}

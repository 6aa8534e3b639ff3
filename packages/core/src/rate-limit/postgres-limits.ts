import { createHash } from 'node:crypto'
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
  return { consume: (key, limit) => orUnavailable(limits.consume(storable(key), limit)) }
}

/** What the index of the table takes. */
const LONGEST_KEY = 1_000

/** A key that the database could not take must not keep anyone from being counted. */
function storable(key: string): string {
  const isStorable = key.length <= LONGEST_KEY && !key.includes('\0') && key.isWellFormed()
  return isStorable ? key : createHash('sha256').update(key).digest('hex')
}

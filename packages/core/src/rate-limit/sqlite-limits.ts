import type { Database } from 'better-sqlite3'
import { RateLimiterSQLite } from 'rate-limiter-flexible'
import { createPatience } from '../database/sqlite-patience.ts'
import { flexibleLimits } from './flexible-limits.ts'
import type { RateLimitStore } from './rate-limit.ts'

/**
 * Counts in the table `rateLimit`, for all processes that share the file. On a connection of its own, as the library would
 * otherwise write into the transaction that another caller has open.
 */
export function sqliteLimits(database: Database, options: { busyTimeoutMs: number }): RateLimitStore {
  const whenFree = createPatience(options.busyTimeoutMs)
  const limits = flexibleLimits(
    (options) =>
      new RateLimiterSQLite({
        ...options,
        // Whoever has had enough is refused without another write.
        inMemoryBlockOnConsumed: options.points,
        storeClient: database,
        storeType: 'better-sqlite3',
        tableName: 'rateLimit',
        tableCreated: true,
      }),
  )
  return { consume: (key, limit) => whenFree(() => limits.consume(key, limit)) }
}

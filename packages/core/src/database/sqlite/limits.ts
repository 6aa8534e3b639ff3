import type { Database } from 'better-sqlite3'
import { RateLimiterSQLite } from 'rate-limiter-flexible'
import { type FlexibleLimits, flexibleLimits } from '../../rate-limit/flexible-limits.ts'
import { createBusyRetry } from './errors.ts'

/**
 * Stores rate limits in the table `rateLimit`, for all processes that share the file. Needs a separate
 * connection: the library would write into the open transaction of another caller.
 */
export function sqliteLimits(database: Database, options: { busyTimeoutMs: number }): FlexibleLimits {
  const retryWhileBusy = createBusyRetry(options.busyTimeoutMs)
  const limits = flexibleLimits({
    createLimiter: (options) =>
      new RateLimiterSQLite({
        ...options,
        // Already over the limit: reject without writing.
        inMemoryBlockOnConsumed: options.points,
        storeClient: database,
        storeType: 'better-sqlite3',
        tableName: 'rateLimit',
        tableCreated: true,
      }),
    subtract: (limiter, key, { now, lastEnd }) =>
      retryWhileBusy(async () => void database.prepare(SUBTRACT).run(limiter.getKey(key), now, lastEnd)),
  })
  return {
    consume: (key, limit) => retryWhileBusy(() => limits.consume(key, limit)),
    giveBack: limits.giveBack,
  }
}

const SUBTRACT = `
  update rateLimit set points = points - 1 where key = ? and points > 0 and expire > ? and expire <= ?
`

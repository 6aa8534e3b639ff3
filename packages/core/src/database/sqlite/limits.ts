import { RateLimiterSQLite } from 'rate-limiter-flexible'
import { type FlexibleLimits, flexibleLimits } from '../../rate-limit/flexible-limits.ts'
import { prefixed } from '../internal-tables.ts'
import type { RunStatement } from './driver.ts'
import type { RetryWhileBusy } from './errors.ts'

/**
 * Stores rate limits in the table `sallyport_rate_limit`, for all processes that share the file.
 * @param run uses a separate connection, or it would write into the open transaction of another caller
 */
export function sqliteLimits(run: RunStatement, retryWhileBusy: RetryWhileBusy): FlexibleLimits {
  const limits = flexibleLimits({
    createLimiter: (options) =>
      new RateLimiterSQLite({
        ...options,
        // Already over the limit: reject without writing.
        inMemoryBlockOnConsumed: options.points,
        storeClient: asSqlite3(run),
        storeType: 'sqlite3',
        tableName: TABLE,
        tableCreated: true,
      }),
    subtract: (limiter, key, { now, lastEnd }) =>
      retryWhileBusy(async () => void (await run(SUBTRACT, [limiter.getKey(key), now, lastEnd]))),
  })
  return {
    consume: (key, limit) => retryWhileBusy(() => limits.consume(key, limit)),
    giveBack: limits.giveBack,
  }
}

type Callback = (error: unknown, row?: unknown) => void

/** Returns the part of the package `sqlite3` that the library calls, for any driver. */
function asSqlite3(run: RunStatement) {
  return {
    serialize: (work: () => void) => work(),
    // A savepoint, which its only statement doesn't need.
    run: (_sql: string, done: Callback) => done(null),
    get: (sql: string, parameters: readonly unknown[], done: Callback) =>
      void run(sql, parameters).then(([row]) => done(null, row), done),
  }
}
const TABLE = prefixed('rate_limit')

const SUBTRACT = `
  update ${TABLE} set points = points - 1 where key = ? and points > 0 and expire > ? and expire <= ?
`

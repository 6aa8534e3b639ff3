import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { type FlexibleLimits, flexibleLimits } from '../../rate-limit/flexible-limits.ts'
import { orUnavailable } from './errors.ts'

/** Stores rate limits in the table `rateLimit`, for all processes that share the database. */
export function postgresLimits(pool: Pool): FlexibleLimits {
  const limits = flexibleLimits({
    createLimiter: (options) =>
      new RateLimiterPostgres({
        ...options,
        // Already over the limit: reject without writing.
        inMemoryBlockOnConsumed: options.points,
        storeClient: pool,
        storeType: 'pool',
        tableName: 'rateLimit',
        tableCreated: true,
        clearExpiredByTimeout: false,
      }),
    async subtract(limiter, key, { now, lastEnd }) {
      await pool.query(SUBTRACT, [limiter.getKey(key), now, lastEnd])
    },
  })
  return {
    consume: (key, limit) => orUnavailable(limits.consume(storable(key), limit)),
    giveBack: (key, limit) => orUnavailable(limits.giveBack(storable(key), limit)),
  }
}

const SUBTRACT = `
  update "rateLimit" set points = points - 1 where key = $1 and points > 0 and expire > $2 and expire <= $3
`

/** The index of the table can't hold much longer keys. */
const MAX_KEY_LENGTH = 1_000

/** Hashes a key that the database can't store, so its attempts are limited too. */
function storable(key: string): string {
  const isStorable = key.length <= MAX_KEY_LENGTH && !key.includes('\0') && key.isWellFormed()
  return isStorable ? key : createHash('sha256').update(key).digest('hex')
}

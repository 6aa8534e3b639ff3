import { createHash } from 'node:crypto'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { type FlexibleLimits, flexibleLimits } from '../../rate-limit/flexible-limits.ts'
import { internalTable } from '../internal-tables.ts'
import type { Query, Statement } from './driver.ts'
import { orUnavailable } from './errors.ts'
import { statementName } from './statement-names.ts'

/** Stores rate limits in the internal table `rate_limit`, for all processes that share the database. */
export function postgresLimits(query: Query, { schema }: { schema: string }): FlexibleLimits {
  const table = internalTable({ engine: 'postgres', schema }, 'rate_limit')
  const subtract = `
    update ${table} set points = points - 1 where key = $1 and points > 0 and expire > $2 and expire <= $3`
  const limits = flexibleLimits({
    createLimiter: (options) =>
      new RateLimiterPostgres({
        ...options,
        // Already over the limit: reject without writing.
        inMemoryBlockOnConsumed: options.points,
        storeClient: {
          query: ({ text, values }: Required<Pick<Statement, 'text' | 'values'>>) =>
            query({ text, values, name: statementName('limit', text) }),
        },
        storeType: 'pool',
        schemaName: schema,
        tableName: 'rate_limit',
        tableCreated: true,
        clearExpiredByTimeout: false,
      }),
    async subtract(limiter, key, { now, lastEnd }) {
      await query({ text: subtract, values: [limiter.getKey(key), now, lastEnd] })
    },
  })
  return {
    consume: (key, limit) => orUnavailable(limits.consume(storable(key), limit)),
    giveBack: (key, limit) => orUnavailable(limits.giveBack(storable(key), limit)),
  }
}

/** The index of the table can't hold much longer keys. */
const MAX_KEY_LENGTH = 1_000

/** Hashes a key that the database can't store, so its attempts are limited too. */
function storable(key: string): string {
  const isStorable = key.length <= MAX_KEY_LENGTH && !key.includes('\0') && key.isWellFormed()
  return isStorable ? key : createHash('sha256').update(key).digest('hex')
}

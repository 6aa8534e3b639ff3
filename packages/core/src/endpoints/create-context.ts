import type { AuthConfig } from '../config.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import { commit } from '../lifecycle/commit.ts'
import { AuthError } from '../protocol/errors.ts'
import { hashSecret } from '../session/secret.ts'
import type { EndpointContext } from './endpoint.ts'

/**
 * Creates the method `limit` of an endpoint's context. It records the first rejection of a key, and no other
 * until the limit's duration has passed: a flood adds one row per key to `audit`.
 */
export function limiter({
  database,
  config,
  userId,
}: {
  database: SessionDatabase
  config: Pick<AuthConfig, 'now'>
  /** The user of the acting session, or null. */
  userId: string | null
}): EndpointContext['limit'] {
  return async (key, limit) => {
    const retryAfterSeconds = await database.limits.consume(key, limit)
    if (retryAfterSeconds === null) return
    const isFirst = (await database.limits.consume(`rejected:${key}`, { ...limit, points: 1 })) === null
    if (isFirst) {
      const [name = ''] = key.split(':')
      const rejection = { userId, limit: name, keyHash: await hashSecret(key), at: config.now() }
      await commit(database, async (_trx, record) => record({ type: 'rate-limit.rejected', ...rejection }))
    }
    throw new AuthError('RATE_LIMITED', { retryAfterSeconds })
  }
}

import { ConfigurationError } from '../../protocol/errors.ts'
import { memoryLimits } from '../../rate-limit/memory-limits.ts'
import type { Row } from '../../session/session-row.ts'
import type { D1Client } from './connections/client.ts'
import type { SqliteStoreDriver } from './driver.ts'
import { remoteLookups } from './find-remote-session.ts'
import { leaseFeed } from './lease-feed.ts'

/**
 * Creates the driver of a Cloudflare D1 database, which has no interactive transactions and is only read.
 * Rate limits are in memory.
 */
export function d1Driver(client: D1Client): SqliteStoreDriver {
  if ('getBookmark' in client)
    throw new ConfigurationError(
      'A session of D1 may read an old copy of the database. Pass the database, such as env.DB.',
    )
  const bind = (sql: string, parameters: readonly unknown[]) => client.prepare(sql).bind(...parameters)
  const lookUp = async (sql: string, parameters: string[]) => (await bind(sql, parameters).raw())[0]
  return {
    limits: memoryLimits(),
    read: async (sql, parameters = []) => (await bind(sql, parameters).all()).results as Row[],
    lookups: (sql, columns) => remoteLookups(lookUp, sql, columns),
    feed: () => leaseFeed('Cloudflare D1'),
    close() {},
  }
}

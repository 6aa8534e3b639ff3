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
  return {
    limits: memoryLimits(),
    async read(sql, parameters = []) {
      const { results } = await client
        .prepare(sql)
        .bind(...parameters)
        .all()
      return results as Row[]
    },
    lookups: (sql, columns) =>
      remoteLookups(
        async (statement, parameters) =>
          (
            await client
              .prepare(statement)
              .bind(...parameters)
              .raw()
          )[0],
        sql,
        columns,
      ),
    feed: () => leaseFeed('Cloudflare D1'),
    close() {},
  }
}

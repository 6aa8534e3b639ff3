import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { Kysely } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import type { LookupRow } from '../../session/session-row.ts'
import { checkMapping } from '../check-mapping.ts'
import type { OpenedStore } from '../database.ts'
import { installFeed, pruneFeedHourly } from '../install-feed.ts'
import type { StoreMapping } from '../mapping.ts'
import type { AuthTables } from '../schema.ts'
import { sessionSql } from '../session-sql.ts'
import { openCounter, toPath } from './connect.ts'
import { sqliteFeed } from './feed.ts'
import { sqliteLimits } from './limits.ts'
import type { SqliteOptions } from './open.ts'
import { sqliteLookups } from './sessions.ts'
import { sqliteWriteQueue } from './write-queue.ts'

/** An open {@link openSqliteStore store}: for `withAuthStore`, and `close()`. */
export type SqliteStore = OpenedStore

/**
 * Opens Step 2, the feed, and the rate limits on tables that another library owns, such as Better Auth's. It only reads those
 * tables, and adds triggers that report revocations. For `withAuthStore`.
 *
 * @param options.mapping the names and date encoding of those tables. One row is read to check it
 * @throws ConfigurationError if the file doesn't exist, or the mapping doesn't fit its tables
 */
export async function openSqliteStore(
  url: string,
  {
    mapping,
    busyTimeoutMs = 5_000,
  }: Pick<SqliteOptions, 'busyTimeoutMs'> & { readonly mapping: StoreMapping },
): Promise<SqliteStore> {
  const path = toPath(url)
  if (!existsSync(path)) throw new ConfigurationError(`There is no database ${path}`)
  const counter = openCounter(path)
  const reader = new Database(path, { readonly: true, timeout: 0 })
  const close = async () => {
    reader.close()
    counter.close()
  }
  try {
    await checkMapping('sqlite', mapping, async (statement) => reader.prepare<[], LookupRow>(statement).get())
    const kysely = new Kysely<AuthTables>({ dialect: sqliteWriteQueue(counter, { busyTimeoutMs }) })
    await installFeed(kysely, 'sqlite', mapping)
    const revocations = sqliteFeed(reader)
    const stopPruning = pruneFeedHourly(kysely)
    return {
      sessions: sqliteLookups(reader, sessionSql('sqlite', mapping)),
      revocations,
      limits: sqliteLimits(counter, { busyTimeoutMs }),
      close() {
        stopPruning()
        revocations.close()
        return close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

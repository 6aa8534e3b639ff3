import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { Kysely } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import type { LookupRow } from '../../session/session-row.ts'
import { checkMapping, warnWithoutVersion } from '../check-mapping.ts'
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

/** What {@link openSqliteStore} opens: `sessions`, `revocations` and `limits` of an `AuthStore`, and `close()`. */
export type SqliteStore = OpenedStore

/**
 * Step 2, the feed and the rate limits on tables that another library owns, such as those of Better Auth: they are read, and triggers on
 * them tell of revocations, but nothing of ours writes to them. For `withAuthStore`.
 *
 * @param options `mapping`: how those tables are named and write their dates. A row is read to check it
 * @throws ConfigurationError when there is no such file, or the mapping does not fit its tables
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
    readOneRow(reader, mapping)
    warnWithoutVersion(mapping)
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

function readOneRow(reader: Database.Database, mapping: StoreMapping): void {
  const { session, user } = sessionSql('sqlite', mapping)
  try {
    const row = reader
      .prepare<[], LookupRow>(
        `select s.${session.id}, u.${user.id}, ${session.columns}, ${user.columns}
          from ${session.table} s join ${user.table} u on u.${user.id} = s.${session.userId} limit 1`,
      )
      .get()
    checkMapping(row, 'sqlite', mapping)
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError)) throw cause
    throw new ConfigurationError(`mapping: ${cause.message}`, { cause })
  }
}

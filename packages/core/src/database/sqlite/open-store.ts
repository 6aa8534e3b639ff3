import { NO_COLUMNS } from '../../session/added-columns.ts'
import { checkMapping } from '../check-mapping.ts'
import type { MappingOptions, OpenedReader, OpenedStore } from '../database.ts'
import { sessionSql } from '../find-session-sql.ts'
import { mappedSessions } from '../mapped-sessions.ts'
import { pruneFeedHourly } from '../prune-feed.ts'
import { expectedOfStore } from '../schema/expected.ts'
import { offerInspection } from '../schema/inspect-opened.ts'
import { sqliteTypes } from '../schema/migrations.ts'
import type { D1Client, SqliteSource } from './connections/client.ts'
import { requireFile } from './connections/connect.ts'
import { openNode, startNode } from './node.ts'
import type { SqliteOptions } from './open.ts'
import { openD1Store } from './open-d1-store.ts'
import { PASS_MS } from './polling-feed.ts'

/** Options of {@link openSqliteStore}. */
export type SqliteStoreOptions = Pick<SqliteOptions, 'busyTimeoutMs'> & MappingOptions

/**
 * Opens Step 2, the feed, and the rate limits on tables that another library owns, such as Better Auth's. It
 * only reads those tables, and polls the file for changes.
 * @param source as for {@link openSqlite}, or `{ client }` with a database of Cloudflare D1
 * @param options with the names and date encoding of those tables. One row is read to check them
 * @throws ConfigurationError if the file doesn't exist, or the mapping doesn't fit its tables
 */
export function openSqliteStore(source: SqliteSource, options: SqliteStoreOptions): Promise<OpenedStore>
export function openSqliteStore(
  source: { readonly client: D1Client },
  options: SqliteStoreOptions,
): Promise<OpenedReader>
export async function openSqliteStore(
  source: SqliteSource | { readonly client: D1Client },
  options: SqliteStoreOptions,
): Promise<OpenedReader | OpenedStore> {
  if (isD1(source)) return openD1Store(source.client, options)
  const { mapping, columns = NO_COLUMNS, busyTimeoutMs } = options
  requireFile(source)
  return openNode(source, { busyTimeoutMs, wal: false }, async (node) => {
    const { kysely: db, driver } = node
    const check = () =>
      checkMapping('sqlite', options, async (statement) => (await driver.read(statement))[0])
    const expected = expectedOfStore(sqliteTypes, options)
    await offerInspection({ db, expectedWith: () => expected, check })
    await check()
    const sql = sessionSql('sqlite', mapping, columns)
    const { close, ...store } = await startNode(node, { sql, columns, passMs: PASS_MS.mapped, expected })
    const stopPruning = pruneFeedHourly(db, 'sqlite')
    return {
      ...store,
      ...mappedSessions({ ...store, db }),
      issuer: mapping.issuer,
      close() {
        stopPruning()
        return close()
      },
    }
  })
}

function isD1(source: SqliteSource | { readonly client: D1Client }): source is { readonly client: D1Client } {
  return typeof source !== 'string' && 'batch' in source.client && !('execute' in source.client)
}

import { Kysely } from 'kysely'
import { MAX_TIMER_MS, requirePositive } from '../../protocol/settings.ts'
import { NO_COLUMNS } from '../../session/added-columns.ts'
import { checkMapping } from '../check-mapping.ts'
import type { MappingOptions, OpenedReader, OpenedStore } from '../database.ts'
import { sessionSql } from '../find-session-sql.ts'
import { restoringLimits } from '../limits.ts'
import { mappedSessions } from '../mapped-sessions.ts'
import { pruneFeedHourly } from '../prune-feed.ts'
import { restoringDialect } from '../restore-tables.ts'
import { expectedOfStore } from '../schema/expected.ts'
import { type Expected, inspect } from '../schema/inspect.ts'
import { offerInspection } from '../schema/inspect-opened.ts'
import type { AuthTables } from '../schema/kysely-tables.ts'
import { sqliteTypes } from '../schema/migrations.ts'
import { watchDatabase } from '../watch-database.ts'
import type { D1Client, SqliteClient, SqliteSource } from './connections/client.ts'
import { requireFile } from './connections/connect.ts'
import type { SqliteDriver } from './driver.ts'
import { installTables, RESTORER } from './install-tables.ts'
import type { SqliteOptions } from './open.ts'
import { openDriver } from './open-driver.ts'
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
  source: SqliteSource<SqliteClient | D1Client>,
  options: SqliteStoreOptions,
): Promise<OpenedReader | OpenedStore> {
  const { mapping, columns = NO_COLUMNS, busyTimeoutMs = 5_000 } = options
  requirePositive('busyTimeoutMs', busyTimeoutMs, MAX_TIMER_MS)
  requireFile(source)
  const driver = await openDriver(source, { busyTimeoutMs, wal: false })
  try {
    const check = () =>
      checkMapping('sqlite', options, async (statement) => (await driver.read(statement))[0])
    const expected = expectedOfStore(sqliteTypes, options)
    const writer = 'dialect' in driver ? createWriter(driver) : null
    if (writer !== null) await offerInspection({ db: writer.db, expectedWith: () => expected, check })
    await check()
    const sql = sessionSql('sqlite', mapping, columns)
    const revocations = driver.feed(sql, PASS_MS.mapped)
    const reader = { sessions: driver.lookups(sql, columns), revocations }
    const close = () => {
      revocations.close()
      driver.close()
    }
    if (writer === null) return { ...reader, limits: driver.limits, close: async () => close() }
    const { db, limits, stop } = await openWriter(writer, expected)
    const locks = { sql, columns }
    return {
      ...reader,
      limits,
      locks,
      isReplaced: writer.driver.isReplaced,
      ...mappedSessions({ db, locks, revocations }),
      async close() {
        stop()
        close()
      },
    }
  } catch (error) {
    driver.close()
    throw error
  }
}

function createWriter(driver: SqliteDriver) {
  return { driver, db: new Kysely<AuthTables>({ dialect: restoringDialect(driver.dialect, RESTORER) }) }
}

/** Creates our tables, and watches and prunes them until it's stopped. */
async function openWriter({ driver, db }: ReturnType<typeof createWriter>, expected: Expected) {
  await installTables(db, driver)
  const stopPruning = pruneFeedHourly(db, 'sqlite')
  const stopWatching = await watchDatabase({
    inspect: async () => [...(await inspect(db, expected)), ...driver.problems()],
    repair: () => RESTORER.restore(db),
  })
  return {
    db,
    limits: restoringLimits(driver.limits, { restorer: RESTORER, db }),
    stop() {
      stopPruning()
      stopWatching()
    },
  }
}

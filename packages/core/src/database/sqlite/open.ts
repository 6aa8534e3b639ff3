import { existsSync } from 'node:fs'
import { Kysely } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import { NO_COLUMNS } from '../../session/added-columns.ts'
import { withAuthStore } from '../../session/auth-store.ts'
import { checkMapping } from '../check-mapping.ts'
import type {
  MappingOptions,
  OpenedDatabase,
  OpenedReader,
  OpenedStore,
  OwnTablesOptions,
} from '../database.ts'
import { sessionSql } from '../find-session-sql.ts'
import { mappedSessions } from '../mapped-sessions.ts'
import { requireOwnWrites } from '../own-writes.ts'
import { pruneFeedHourly } from '../prune-feed.ts'
import { restoringDialect, restoringLimits, type TableRestorer } from '../restore-tables.ts'
import { expectedOfDatabase, expectedOfStore } from '../schema/expected.ts'
import { type Expected, inspect } from '../schema/inspect.ts'
import { isInspecting, offerInspection } from '../schema/inspect-opened.ts'
import type { AuthKysely, AuthTables } from '../schema/kysely-tables.ts'
import { createInternalTables, sqliteTypes } from '../schema/migrations.ts'
import { prepareTables } from '../schema/prepare-tables.ts'
import { ownNames } from '../schema/renaming-plugin.ts'
import { type Tables, USER_TABLES, withColumns } from '../schema/tables.ts'
import { watchDatabase } from '../watch-database.ts'
import type { D1Client, SqliteClient, SqliteSource } from './connections/client.ts'
import { toPath } from './connections/connect.ts'
import type { SqliteDriver } from './driver.ts'
import { installTables } from './install-tables.ts'
import { openDriver } from './open-driver.ts'
import { PASS_MS } from './polling-feed.ts'

/** Options of {@link openSqlite}. */
export interface SqliteOptions extends OwnTablesOptions {
  /** Timeout of a statement that waits for other processes, after which it is 503, in ms. @default 5_000 */
  readonly busyTimeoutMs?: number
  /** Whether to create a missing file. @default true */
  readonly create?: boolean
}

/** Options of {@link openSqliteStore}. */
export type SqliteStoreOptions = Pick<SqliteOptions, 'busyTimeoutMs'> & MappingOptions

/**
 * Opens a SQLite file, creates it if it is missing, and migrates its tables. With `migrate: false`, another
 * tool migrates them: they are only checked, and the file keeps its journal mode.
 *
 * Only its owner can read a new file, since it holds password hashes. `:memory:` is for tests: one connection
 * reads and writes, so Step 2 also sees open transactions.
 *
 * If the app has a client for the file, pass it: two copies of SQLite in one process lose writes. The client
 * stays open when the database is closed, and the file keeps its journal mode.
 * @param source `file:` followed by a path, a path, or `:memory:`, which need better-sqlite3; or `{ client }`
 * @throws ConfigurationError if the URL isn't a SQLite URL, the file is missing and `create` is false, or
 * another SQLite library in this process has the file open
 */
export function openSqlite<AppTables = unknown>(
  source: SqliteSource,
  options?: SqliteOptions,
): Promise<OpenedDatabase<AppTables>>
export async function openSqlite(
  source: SqliteSource,
  options: SqliteOptions = {},
): Promise<OpenedDatabase<unknown>> {
  const { busyTimeoutMs = 5_000, create = true, columns = NO_COLUMNS, migrate: migrates = true } = options
  const { names, mapping, plugins } = ownNames(options)
  if (!(create && migrates) || isInspecting()) requireFile(source)
  const driver = await openDriver(source, { busyTimeoutMs, wal: migrates && !isInspecting() })
  const kysely = new Kysely<AuthTables>({ dialect: restoringDialect(driver.dialect, RESTORER), plugins })
  const expectedWith = (tables: Tables = {}) =>
    expectedOfDatabase(sqliteTypes, {
      ...{ migrates, names },
      tables: { ...tables, ...withColumns(USER_TABLES, columns) },
    })
  try {
    await offerInspection({ db: kysely, expectedWith })
    const migrations = await prepareTables(kysely, sqliteTypes, { columns, migrates, names })
    await install(kysely, driver)
    const sql = sessionSql('sqlite', mapping, columns)
    const sessions = driver.sessions({ columns, mapping })
    const revocations = driver.feed(sql, migrates ? PASS_MS.own : PASS_MS.mapped)
    const limits = restoringLimits(driver.limits, { restorer: RESTORER, db: kysely })
    const locks = { sql, columns }
    const own = { columns, locks, types: sqliteTypes, migrates, names }
    const database = { db: kysely, sessions, revocations, limits, ...own }
    const stopWatching = await watchDatabase({
      inspect: async () => [...(await inspect(kysely, expectedWith())), ...driver.problems()],
      repair: () => RESTORER.restore(kysely),
    })
    return {
      ...database,
      db: withAuthStore(kysely, { sessions, revocations, limits, database }),
      migrations,
      async close() {
        stopWatching()
        revocations.close()
        driver.close()
      },
    }
  } catch (error) {
    driver.close()
    throw error
  }
}

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
  await install(db, driver)
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

/** Creates our internal tables, and checks that the client reads what it has written. */
async function install(db: AuthKysely, driver: SqliteDriver): Promise<void> {
  await installTables(db)
  if (driver.isReplicable)
    await requireOwnWrites(db, { read: driver.read, fix: 'Pass a client for the server.' })
}

const RESTORER: TableRestorer = {
  internal: sqliteTypes,
  restore: (db) => createInternalTables(db, sqliteTypes),
}

function requireFile(source: SqliteSource<unknown>): void {
  const path = typeof source === 'string' ? toPath(source) : ':memory:'
  if (path !== ':memory:' && !existsSync(path))
    throw new ConfigurationError(`Database ${path} not found. Check the path.`)
}

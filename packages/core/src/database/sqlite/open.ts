import { Kysely } from 'kysely'
import { MAX_TIMER_MS, requirePositive } from '../../protocol/settings.ts'
import { NO_COLUMNS } from '../../session/added-columns.ts'
import { withAuthStore } from '../../session/auth-store.ts'
import type { OpenedDatabase, OwnTablesOptions } from '../database.ts'
import { sessionSql } from '../find-session-sql.ts'
import { restoringLimits } from '../limits.ts'
import { restoringDialect } from '../restore-tables.ts'
import { applyNames } from '../schema/apply-names.ts'
import { expectedOfDatabase } from '../schema/expected.ts'
import { inspect } from '../schema/inspect.ts'
import { isInspecting, offerInspection } from '../schema/inspect-opened.ts'
import type { AuthTables } from '../schema/kysely-tables.ts'
import { sqliteTypes } from '../schema/migrations.ts'
import { prepareTables } from '../schema/prepare-tables.ts'
import type { Tables } from '../schema/table.ts'
import { watchDatabase } from '../watch-database.ts'
import type { SqliteSource } from './connections/client.ts'
import { requireFile } from './connections/connect.ts'
import { installTables, RESTORER } from './install-tables.ts'
import { openDriver } from './open-driver.ts'
import { PASS_MS } from './polling-feed.ts'

/** Options of {@link openSqlite}. */
export interface SqliteOptions extends OwnTablesOptions {
  /** Timeout of a statement that waits for other processes, after which it is 503, in ms. @default 5_000 */
  readonly busyTimeoutMs?: number
  /** Whether to create a missing file. @default true */
  readonly create?: boolean
}

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
  requirePositive('busyTimeoutMs', busyTimeoutMs, MAX_TIMER_MS)
  const { names, mapping, plugins } = applyNames(options)
  if (!(create && migrates) || isInspecting()) requireFile(source)
  const driver = await openDriver(source, { busyTimeoutMs, wal: migrates && !isInspecting() })
  const kysely = new Kysely<AuthTables>({ dialect: restoringDialect(driver.dialect, RESTORER), plugins })
  const expectedWith = (pluginTables: Tables = {}) =>
    expectedOfDatabase(sqliteTypes, { pluginTables, columns, migrates, names })
  try {
    await offerInspection({ db: kysely, expectedWith })
    const migrations = await prepareTables(kysely, sqliteTypes, { columns, migrates, names })
    await installTables(kysely, driver)
    const sql = sessionSql('sqlite', mapping, columns)
    const sessions = { ...driver.lookups(sql, columns), findToken: driver.findToken(mapping) }
    const revocations = driver.feed(sql, migrates ? PASS_MS.own : PASS_MS.mapped)
    const limits = restoringLimits(driver.limits, { restorer: RESTORER, db: kysely })
    const locks = { sql, columns }
    const own = { columns, locks, types: sqliteTypes, migrates, names, isReplaced: driver.isReplaced }
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

import { NO_COLUMNS } from '../../session/added-columns.ts'
import { withAuthStore } from '../../session/auth-store.ts'
import type { OpenedDatabase, OwnTablesOptions } from '../database.ts'
import { sessionSql } from '../find-session-sql.ts'
import { applyNames } from '../schema/apply-names.ts'
import { expectedOfDatabase } from '../schema/expected.ts'
import { isInspecting, offerInspection } from '../schema/inspect-opened.ts'
import { sqliteTypes } from '../schema/migrations.ts'
import { prepareTables } from '../schema/prepare-tables.ts'
import type { Tables } from '../schema/table.ts'
import type { SqliteSource } from './connections/client.ts'
import { requireFile } from './connections/connect.ts'
import { sqliteTokens } from './find-session.ts'
import { openNode, startNode } from './node.ts'
import { PASS_MS } from './polling-feed.ts'

/** Options of {@link openSqlite}. */
export interface SqliteOptions extends OwnTablesOptions {
  /** Timeout of a statement that waits for other processes, after which it is 503, in ms. @default 5_000 */
  readonly busyTimeoutMs?: number
  /** Whether to create a missing file, which `migrate: false` never does. @default true */
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
 * @throws ConfigurationError if the URL isn't a SQLite URL, the file is missing and `create` or `migrate` is
 * false, or another SQLite library in this process has the file open
 */
export function openSqlite<AppTables = unknown>(
  source: SqliteSource,
  options?: SqliteOptions,
): Promise<OpenedDatabase<AppTables>>
export async function openSqlite(
  source: SqliteSource,
  options: SqliteOptions = {},
): Promise<OpenedDatabase<unknown>> {
  const { busyTimeoutMs, create = true, columns = NO_COLUMNS, migrate: migrates = true } = options
  const { names, mapping, plugins } = applyNames(options)
  if (!(create && migrates) || isInspecting()) requireFile(source)
  const wal = migrates && !isInspecting()
  return openNode(source, { busyTimeoutMs, wal, plugins }, async (node) => {
    const { kysely, driver } = node
    const expectedWith = (pluginTables: Tables = {}) =>
      expectedOfDatabase(sqliteTypes, { pluginTables, columns, migrates, names })
    await offerInspection({ db: kysely, expectedWith, columns })
    const migrations = await prepareTables(kysely, sqliteTypes, { columns, migrates, names })
    const sql = sessionSql('sqlite', mapping, columns)
    const passMs = migrates ? PASS_MS.own : PASS_MS.mapped
    const { close, ...store } = await startNode(node, { sql, columns, passMs, expected: expectedWith() })
    const sessions = { ...store.sessions, findToken: sqliteTokens(driver.read, mapping) }
    const database = { ...store, sessions, db: kysely, columns, types: sqliteTypes, migrates, names }
    const { revocations, limits } = store
    const db = withAuthStore(kysely, { sessions, revocations, limits, database })
    return { ...database, db, migrations, close }
  })
}

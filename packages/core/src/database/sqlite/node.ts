import { Kysely, type KyselyPlugin, sql } from 'kysely'
import { MAX_TIMER_MS, requirePositive } from '../../protocol/settings.ts'
import type { AddedColumns } from '../../session/added-columns.ts'
import type { OpenedStore } from '../database.ts'
import type { SessionSql } from '../find-session-sql.ts'
import { restoringLimits } from '../limits.ts'
import type { OwnSessions } from '../mapped-sessions.ts'
import { requireOwnWrites } from '../own-writes.ts'
import { restoringDialect, type TableRestorer } from '../restore-tables.ts'
import { type Expected, inspect } from '../schema/inspect.ts'
import type { AuthKysely } from '../schema/kysely-tables.ts'
import { createInternalTables, sqliteTypes } from '../schema/migrations.ts'
import { watchDatabase } from '../watch-database.ts'
import type { SqliteSource } from './connections/client.ts'
import type { SqliteDriver } from './driver.ts'
import { openDriver } from './open-driver.ts'

/** This process as a node of the database. */
export interface Node {
  readonly kysely: AuthKysely
  readonly driver: SqliteDriver
}

interface NodeOptions {
  readonly busyTimeoutMs?: number | undefined
  readonly wal: boolean
  readonly plugins?: KyselyPlugin[]
}

/** Connects, and closes the connections if `prepare` fails. */
export async function openNode<Result>(
  source: SqliteSource,
  { busyTimeoutMs = 5_000, wal, plugins = [] }: NodeOptions,
  prepare: (node: Node) => Promise<Result>,
): Promise<Result> {
  requirePositive('busyTimeoutMs', busyTimeoutMs, MAX_TIMER_MS)
  const driver = await openDriver(source, { busyTimeoutMs, wal })
  try {
    return await prepare({
      kysely: new Kysely({ dialect: restoringDialect(driver.dialect, RESTORER), plugins }),
      driver,
    })
  } catch (error) {
    driver.close()
    throw error
  }
}

interface StartOptions {
  readonly sql: SessionSql
  readonly columns: AddedColumns
  /** The time between passes of a feed that polls. */
  readonly passMs: number
  readonly expected: Expected
}

/** Creates our internal tables, starts the lookups and the feed, and watches the tables. */
export async function startNode(
  { kysely, driver }: Node,
  { passMs, expected, ...lookup }: StartOptions,
): Promise<Omit<OpenedStore, keyof OwnSessions>> {
  await createMissing(kysely, Object.keys(expected.internalTables))
  if (driver.isReplicable)
    await requireOwnWrites(kysely, { read: driver.read, fix: 'Pass a client for the server.' })
  const revocations = driver.feed(lookup.sql, passMs)
  const stopWatching = await watchDatabase({
    inspect: async () => [...(await inspect(kysely, expected)), ...driver.problems()],
    repair: () => RESTORER.restore(kysely),
  })
  return {
    sessions: driver.lookups(lookup.sql, lookup.columns),
    revocations,
    limits: restoringLimits(driver.limits, { restorer: RESTORER, db: kysely }),
    locks: lookup,
    isReplaced: driver.isReplaced,
    async close() {
      stopWatching()
      revocations.close()
      driver.close()
    },
  }
}

const RESTORER: TableRestorer = {
  internal: sqliteTypes,
  restore: (db) => createInternalTables(db, sqliteTypes),
}

/** Creates the internal tables that are missing. If all exist, a start doesn't wait for another process. */
async function createMissing(db: AuthKysely, tables: readonly string[]): Promise<void> {
  const query = sql<{ name: string }>`select name from sqlite_schema where type = 'table'`
  const names = new Set((await query.execute(db)).rows.map(({ name }) => name))
  if (tables.every((name) => names.has(name))) return
  await db.transaction().execute((trx) => createInternalTables(trx, sqliteTypes))
}

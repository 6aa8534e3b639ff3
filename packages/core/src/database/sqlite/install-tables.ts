import { sql } from 'kysely'
import { requireOwnWrites } from '../own-writes.ts'
import type { TableRestorer } from '../restore-tables.ts'
import { prefixed } from '../schema/internal-tables.ts'
import type { AuthKysely } from '../schema/kysely-tables.ts'
import { createInternalTables, sqliteTypes } from '../schema/migrations.ts'
import { INTERNAL_TABLES } from '../schema/tables.ts'
import type { SqliteDriver } from './driver.ts'

const TABLES = Object.keys(INTERNAL_TABLES).map((name) => prefixed(name.slice(name.indexOf('.') + 1)))

/** Creates our internal tables, and checks that the client reads what it has written. */
export async function installTables(db: AuthKysely, driver: SqliteDriver): Promise<void> {
  await createMissing(db)
  if (driver.isReplicable)
    await requireOwnWrites(db, { read: driver.read, fix: 'Pass a client for the server.' })
}

export const RESTORER: TableRestorer = {
  internal: sqliteTypes,
  restore: (db) => createInternalTables(db, sqliteTypes),
}

/** Creates the internal tables that are missing. If all exist, a start doesn't wait for another process. */
async function createMissing(db: AuthKysely): Promise<void> {
  const query = sql<{ name: string }>`select name from sqlite_schema where type = 'table'`
  const names = new Set((await query.execute(db)).rows.map(({ name }) => name))
  if (TABLES.every((name) => names.has(name))) return
  await db.transaction().execute((trx) => createInternalTables(trx, sqliteTypes))
}

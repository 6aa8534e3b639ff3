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

/**
 * Creates the internal tables that are missing, and drops the triggers of early versions, which fail every
 * write to `user` and `session` if the table that they log to is dropped. Writes nothing if all is well: a
 * start doesn't wait for another process.
 */
async function createMissing(db: AuthKysely): Promise<void> {
  const { rows } = await sql<{ type: string; name: string }>`
    select type, name from sqlite_schema
      where type = 'table' or type = 'trigger' and sql like '%sallyport_revocation_log%'`.execute(db)
  const names = new Set(rows.map(({ name }) => name))
  const triggers = rows.filter(({ type }) => type === 'trigger')
  if (triggers.length === 0 && TABLES.every((name) => names.has(name))) return
  await db.transaction().execute(async (trx) => {
    await createInternalTables(trx, sqliteTypes)
    for (const { name } of triggers) await sql`drop trigger if exists ${sql.id(name)}`.execute(trx)
  })
}

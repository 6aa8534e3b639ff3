import { sql } from 'kysely'
import { prefixed } from '../internal-tables.ts'
import { createInternalTables, type MigrationDialect } from '../migrations.ts'
import type { AuthKysely } from '../schema.ts'
import { CREATE, sqliteTriggers } from '../sqlite-triggers.ts'
import { INTERNAL_TABLES } from '../tables.ts'

const TABLES = ['sallyport.revocation_log', ...Object.keys(INTERNAL_TABLES)].map((name) =>
  prefixed(name.slice(name.indexOf('.') + 1)),
)

/**
 * Creates the internal tables that are missing, and in a file that we migrate the triggers. Drops the
 * triggers of any other file. Writes nothing if all is well: a start doesn't wait for another process.
 */
export async function installFeed(
  db: AuthKysely,
  types: MigrationDialect,
  { isMapped }: { isMapped: boolean },
): Promise<void> {
  const triggers = isMapped ? {} : sqliteTriggers(types)
  if (await isInstalled(db, triggers)) return
  await db.transaction().execute((trx) => createFeed(trx, types, triggers))
}

/** Creates what is missing, also inside a transaction or while another process does. */
export async function createFeed(
  db: AuthKysely,
  types: MigrationDialect,
  triggers: Readonly<Record<string, string>>,
): Promise<void> {
  await createInternalTables(db, types)
  for (const found of await readTriggers(db))
    if (!isCurrent(found, triggers)) await sql`drop trigger if exists ${sql.id(found.name)}`.execute(db)
  for (const statement of Object.values(triggers)) await sql.raw(statement).execute(db)
}

async function isInstalled(db: AuthKysely, triggers: Readonly<Record<string, string>>): Promise<boolean> {
  const { rows } = await sql<{ tables: number }>`
    select count(*) as tables from sqlite_schema
      where type = 'table' and name in (select value from json_each(${JSON.stringify(TABLES)}))`.execute(db)
  if (rows[0]?.tables !== TABLES.length) return false
  const found = await readTriggers(db)
  return (
    found.length === Object.keys(triggers).length && found.every((trigger) => isCurrent(trigger, triggers))
  )
}

interface Trigger {
  readonly name: string
  readonly sql: string
}

async function readTriggers(db: AuthKysely): Promise<Trigger[]> {
  const { rows } = await sql<Trigger>`
    select name, sql from sqlite_schema where type = 'trigger' and name glob 'sallyport_*'`.execute(db)
  return rows
}

function isCurrent({ name, sql: text }: Trigger, triggers: Readonly<Record<string, string>>): boolean {
  return triggers[name]?.slice(CREATE.length) === text.slice('CREATE TRIGGER '.length)
}

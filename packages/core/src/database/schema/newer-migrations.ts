import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { ConfigurationError } from '../../protocol/errors.ts'
import { INTERNAL_SCHEMA, type InternalNames, prefixed } from './internal-tables.ts'
import type { AuthKysely } from './kysely-tables.ts'

/** How many migrations a database may be ahead of this release: those of one release, which only add. */
const MAX_AHEAD = 1

/** A migration of a newer release, which has run. */
export const NEWER: Migration = { up: async () => {} }

interface Records extends InternalNames {
  /** The table that records the migrations, without its schema or prefix. */
  readonly table: string
  /** The migrations of this release. */
  readonly known: readonly string[]
}

/**
 * Returns the migrations of a newer release that ran on this database.
 * @throws ConfigurationError if there are too many for this release to run
 */
export async function newerMigrations(db: AuthKysely, records: Records): Promise<string[]> {
  const { table, known } = records
  if (!(await exists(db, records))) return []
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(`${INTERNAL_SCHEMA}.${table}`)} order by name`.execute(db)
  const names = rows.map(({ name }) => name)
  const newer = names.filter((name) => !known.includes(name))
  if (newer.length <= MAX_AHEAD) return newer
  throw new ConfigurationError(
    `The database is at the migration ${newer.at(-1)} (table ${table}), and this release only knows ${[...known].sort().at(-1)}. Deploy the newer release.`,
  )
}

async function exists(
  db: AuthKysely,
  { engine, schema, table }: Pick<Records, 'engine' | 'schema' | 'table'>,
): Promise<boolean> {
  const found =
    engine === 'sqlite'
      ? sql`select name from sqlite_schema where type = 'table' and name = ${prefixed(table)}`
      : sql`select relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where nspname = ${schema} and relname = ${table}`
  return (await found.execute(db)).rows.length > 0
}

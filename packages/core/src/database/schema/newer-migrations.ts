import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { ConfigurationError } from '../../protocol/errors.ts'
import { readColumnNames } from './inspect.ts'
import { INTERNAL_SCHEMA, type InternalNames, storedName } from './internal-tables.ts'
import type { AuthKysely } from './kysely-tables.ts'

/** How many migrations a database may be ahead of this release: those of one release, which only add. */
const MAX_AHEAD = 1

/** A migration of a newer release, which has run. */
export const NEWER: Migration = { up: async () => {} }

/**
 * Returns the migrations of a newer release that ran on this database.
 * @param table records the migrations
 * @param known the migrations of this release
 * @throws ConfigurationError if there are too many for this release to run
 */
export async function newerMigrations(
  db: AuthKysely,
  internal: InternalNames,
  { table, known }: { readonly table: string; readonly known: readonly string[] },
): Promise<string[]> {
  const columns = await readColumnNames(db, internal.engine, storedName(internal, table))
  if (columns.length === 0) return []
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(`${INTERNAL_SCHEMA}.${table}`)} order by name`.execute(db)
  const names = rows.map(({ name }) => name)
  const newer = names.filter((name) => !known.includes(name))
  if (newer.length <= MAX_AHEAD) return newer
  throw new ConfigurationError(
    `The database is at the migration ${newer.at(-1)} (table ${table}), and this release only knows ${[...known].sort().at(-1)}. Deploy the newer release.`,
  )
}

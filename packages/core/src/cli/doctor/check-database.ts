import { existsSync } from 'node:fs'
import { type Dialect, Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely'
import { columnsOf } from '../../database/columns.ts'
import { expectedOfDatabase } from '../../database/expected.ts'
import { inspect, type Problem } from '../../database/inspect.ts'
import { INTERNAL_SCHEMA, type InternalNames } from '../../database/internal-tables.ts'
import { migrationTableOf } from '../../database/migrations.ts'
import { recordTables } from '../../database/record-tables.ts'
import type { AuthPlugin } from '../../endpoints/definition.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import { isPostgresUrl } from '../database.ts'
import { requirePackage } from '../load-definition.ts'

/** Returns what is wrong with a database. Never creates or changes anything. */
export async function checkDatabase(url: string, plugins: readonly AuthPlugin[]): Promise<Problem[]> {
  const internal: InternalNames = {
    engine: isPostgresUrl(url) ? 'postgres' : 'sqlite',
    schema: INTERNAL_SCHEMA,
  }
  const db = new Kysely<unknown>({ dialect: await connect(url) })
  try {
    const tables = await recordTables(plugins, internal.engine)
    const migrates = await isMigrated(db, internal)
    return await inspect(
      db,
      expectedOfDatabase(internal, { tables, migrates, columns: columnsOf({ plugins }) }),
    )
  } finally {
    await db.destroy()
  }
}

async function connect(url: string): Promise<Dialect> {
  if (isPostgresUrl(url)) {
    const { default: pg } = await import('pg').catch(requirePackage('pg'))
    return new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 1 }) })
  }
  const { default: Database } = await import('better-sqlite3').catch(requirePackage('better-sqlite3'))
  const { toPath } = await import('../../database/sqlite/connect.ts')
  const path = toPath(url)
  if (!existsSync(path)) throw new ConfigurationError(`Database ${path} not found. Check the path.`)
  return new SqliteDialect({ database: new Database(path, { readonly: true }) })
}

/** Returns whether our migrations have created the tables, and not the app's tool. */
async function isMigrated(db: Kysely<unknown>, { engine, schema }: InternalNames): Promise<boolean> {
  const table = migrationTableOf(null)
  const query =
    engine === 'sqlite'
      ? sql`select 1 from ${sql.id(`${schema}_${table}`)} limit 1`
      : sql`select 1 from ${sql.id(schema, table)} limit 1`
  // The table is missing.
  const { rows } = await query.execute(db).catch(() => ({ rows: [] }))
  return rows.length > 0
}

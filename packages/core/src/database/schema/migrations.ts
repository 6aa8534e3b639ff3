import { type Kysely, type QueryExecutorProvider, type SchemaModule, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { adoptTables, readExisting } from './adopt-tables.ts'
import { changeTables, type LockSettings } from './change-tables.ts'
import { type ColumnTypes, createStatements } from './create-table.ts'
import { readColumnNames } from './inspect.ts'
import { INTERNAL_SCHEMA, type InternalNames, prefixed } from './internal-tables.ts'
import type { AuthKysely } from './kysely-tables.ts'
import { NEWER, newerMigrations } from './newer-migrations.ts'
import { revocationLogStatements } from './revocation-log.ts'
import { INTERNAL_TABLES, USER_TABLES } from './tables.ts'

/** The types and names that differ between databases. */
export interface MigrationDialect extends InternalNames, ColumnTypes, LockSettings {}

/** ISO 8601 text, and 0 or 1. */
export const sqliteTypes: MigrationDialect = {
  engine: 'sqlite',
  schema: INTERNAL_SCHEMA,
  timestamp: sql`text`,
  flag: sql`integer`,
  no: sql`false`,
  yes: sql`true`,
}

export function postgresTypes(schema: string): MigrationDialect {
  return {
    engine: 'postgres',
    schema,
    timestamp: sql`timestamptz`,
    flag: sql`boolean`,
    no: sql`false`,
    yes: sql`true`,
  }
}

/** Migrations by name, such as `0001_devices`. Each runs once, in the order of names. `db` is for raw SQL. */
export type Migrations = Readonly<
  Record<string, (schema: SchemaModule, types: MigrationDialect, db: Kysely<unknown>) => Promise<void>>
>

interface MigrationList {
  /** The id of a plugin; null for our own migrations. */
  readonly owner: string | null
  readonly migrations: Migrations
  /** The tables that exist after them. If a tool has dropped them all, the migrations run again. */
  readonly tables?: readonly string[]
}

/** The names of the migrations that ran, in order. */
export interface MigrationReport {
  readonly applied: string[]
}

/**
 * Runs the pending migrations of one owner in one transaction. Safe to call at every start and from several
 * processes at once. Each owner has a separate list, so a plugin can be added and removed.
 *
 * A table that exists is adopted if it has all columns. The database may be one migration ahead of this
 * release, so a release can be rolled back.
 * @throws ConfigurationError if a table has other columns, or the database is further ahead
 * @throws the error of a failed migration, after rolling back all of them
 */
export async function migrate(
  db: AuthKysely,
  dialect: MigrationDialect,
  { owner, migrations, tables = [] }: MigrationList = CORE,
): Promise<MigrationReport> {
  const table = migrationTableOf(owner)
  const newer = await newerMigrations(db, dialect, { table, known: Object.keys(migrations) })
  const migrator = (executor: AuthKysely) =>
    new Migrator({
      db: executor,
      provider: {
        async getMigrations() {
          return Object.fromEntries([
            ...Object.entries(migrations).map(([name, up]) => [name, toMigration(up, dialect)]),
            ...newer.map((name) => [name, NEWER]),
          ])
        },
      },
      ...migrationTables(dialect, owner),
    })
  const known = await migrator(db).getMigrations()
  const isCurrent = known.every(({ executedAt }) => executedAt !== undefined)
  // A newer release may have dropped the tables.
  const mustRepeat = async (executor: AuthKysely) =>
    isCurrent && newer.length === 0 && (await haveBeenDropped(tables, executor, dialect))
  // A start doesn't wait for another process that writes.
  if (isCurrent && !(await mustRepeat(db))) return { applied: [] }
  const change = async (trx: AuthKysely) => {
    if (await mustRepeat(trx)) await sql`delete from ${sql.table(`${INTERNAL_SCHEMA}.${table}`)}`.execute(trx)
    const { error, results = [] } = await migrator(trx).migrateToLatest()
    if (error !== undefined) throw error
    const applied = results.filter(({ status }) => status === 'Success')
    return { applied: applied.map(({ migrationName }) => migrationName) }
  }
  return changeTables(db, dialect, { key: CREATING, change })
}

async function haveBeenDropped(
  tables: readonly string[],
  db: AuthKysely,
  { engine }: MigrationDialect,
): Promise<boolean> {
  for (const table of tables) if ((await readColumnNames(db, engine, table)).length > 0) return false
  return tables.length > 0
}

/** The key of the advisory lock under which processes migrate, and create our schema and triggers. */
export const CREATING = 7_255_302

function toMigration(up: Migrations[string], dialect: MigrationDialect): Migration {
  return {
    async up(db) {
      const adopting = db.withPlugin(adoptTables(dialect.engine, await readExisting(db, dialect)))
      await up(adopting.schema, dialect, adopting)
    },
  }
}

/** Returns the name of the table that records the migrations of one owner, without its prefix. */
export function migrationTableOf(owner: string | null): string {
  return owner === null ? 'migration' : `${owner}_migration`
}

/** Returns where the migrations of one owner are recorded: in our schema, or in prefixed tables of SQLite. */
function migrationTables({ engine, schema }: MigrationDialect, owner: string | null) {
  const table = migrationTableOf(owner)
  const lock = `${table}_lock`
  return engine === 'sqlite'
    ? { migrationTableName: prefixed(table), migrationLockTableName: prefixed(lock) }
    : { migrationTableSchema: schema, migrationTableName: table, migrationLockTableName: lock }
}

/** Creates the internal tables that are missing. */
export async function createInternalTables(
  db: Pick<AuthKysely, 'schema' | 'getExecutor'>,
  types: MigrationDialect,
): Promise<void> {
  const isPostgres = types.engine === 'postgres'
  // Even with `if not exists`, PostgreSQL locks a table before it looks for an index. Its writers would wait.
  const present = isPostgres ? await tablesIn(types.schema, db) : new Set()
  const missing = Object.entries(INTERNAL_TABLES).filter(([name]) => !present.has(name))
  for (const statement of createStatements(db.schema, types, Object.fromEntries(missing)))
    await statement.ifNotExists().execute()
  if (!isPostgres || present.has(`${INTERNAL_SCHEMA}.revocation_log`)) return
  for (const statement of revocationLogStatements(types)) await sql.raw(statement).execute(db)
}

/** Returns the tables of our schema in PostgreSQL, as Kysely names them. */
async function tablesIn(schema: string, db: QueryExecutorProvider): Promise<ReadonlySet<string>> {
  const query = sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = ${schema}`
  const { rows } = await query.execute(db)
  return new Set(rows.map(({ name }) => `${INTERNAL_SCHEMA}.${name}`))
}

const CORE: MigrationList = {
  owner: null,
  tables: Object.keys(USER_TABLES),
  migrations: {
    async '0001_tables'(schema, types, db) {
      for (const statement of createStatements(schema, types, USER_TABLES)) await statement.execute()
      // Later migrations may alter them.
      await createInternalTables(db, types)
    },
  },
}

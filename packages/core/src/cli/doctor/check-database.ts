import { type Dialect, Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely'
import { checkPrimaryRow } from '../../database/postgres/drivers/primary.ts'
import { columnsOf, unreadColumns } from '../../database/schema/columns.ts'
import { expectedOfDatabase } from '../../database/schema/expected.ts'
import { inspect, type Problem } from '../../database/schema/inspect.ts'
import { inspectOpened, type Opening } from '../../database/schema/inspect-opened.ts'
import {
  checkSchema,
  INTERNAL_SCHEMA,
  type InternalNames,
  storedName,
} from '../../database/schema/internal-tables.ts'
import { migrationTableOf } from '../../database/schema/migrations.ts'
import { recordTables } from '../../database/schema/record-tables.ts'
import type { AuthPlugin } from '../../endpoints/definition.ts'
import { isPostgresUrl } from '../database.ts'
import { importModule, requirePackage } from '../load-definition.ts'

/**
 * Returns what is wrong with the database that a module opens, with its mapping and names; null if it opens
 * none. The module goes no further than that, and nothing is created or changed.
 */
export function checkOpened(path: string, plugins: readonly AuthPlugin[]): Promise<Problem[] | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Problem[] | null>()
  const stop = inspectOpened(async (opening) => {
    await inspectOpening(opening, plugins).then(resolve, reject)
    return new Promise(() => {})
  })
  importModule<{ auth?: { ready?(): Promise<void> } }>(path)
    // A module whose database opens at the first use.
    .then(({ auth }) => auth?.ready?.())
    .then(() => resolve(null), reject)
  return promise.finally(stop)
}

async function inspectOpening(
  { db, expectedWith, columns, check }: Opening,
  plugins: readonly AuthPlugin[],
): Promise<Problem[]> {
  const tables = await recordTables(plugins, expectedWith({}).internal.engine)
  const expected = expectedWith(tables)
  const problems = await inspect(db, expected)
  // It reads the tables of the app, so their columns must exist.
  if (problems.every(({ fix }) => fix !== expected.fix)) await check?.()
  const unread = columns === undefined ? null : unreadColumns({ plugins }, columns)
  return unread === null ? problems : [unread, ...problems]
}

/**
 * Returns what is wrong with our own tables. Never creates or changes anything.
 * @throws Error if the server is in recovery: an app can't use it
 */
export async function checkDatabase(
  url: string,
  { plugins, schema = INTERNAL_SCHEMA }: { plugins: readonly AuthPlugin[]; schema?: string | undefined },
): Promise<Problem[]> {
  const internal: InternalNames = {
    engine: isPostgresUrl(url) ? 'postgres' : 'sqlite',
    schema: checkSchema(schema),
  }
  const db = new Kysely<unknown>({ dialect: await connect(url) })
  try {
    if (internal.engine === 'postgres') {
      const query = sql<{ standby: boolean }>`select pg_is_in_recovery() as standby`
      checkPrimaryRow((await query.execute(db)).rows[0])
    }
    const pluginTables = await recordTables(plugins, internal.engine)
    const migrates = await isMigrated(db, internal)
    return await inspect(
      db,
      expectedOfDatabase(internal, { pluginTables, migrates, columns: columnsOf({ plugins }) }),
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
  const { requireFile, toPath } = await import('../../database/sqlite/connections/connect.ts')
  requireFile(url)
  return new SqliteDialect({ database: new Database(toPath(url), { readonly: true }) })
}

/** Returns whether our migrations have created the tables, and not the app's tool. */
async function isMigrated(db: Kysely<unknown>, internal: InternalNames): Promise<boolean> {
  const query = sql`select 1 from ${sql.table(storedName(internal, migrationTableOf(null)))} limit 1`
  // The table is missing.
  const { rows } = await query.execute(db).catch(() => ({ rows: [] }))
  return rows.length > 0
}

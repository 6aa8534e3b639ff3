import type { AuthPlugin } from '../../endpoints/definition.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import type { AddedColumns } from '../../session/added-columns.ts'
import type { SessionDatabase } from '../session-database.ts'
import { addColumns, columnsOf } from './columns.ts'
import { columnNames, GENERATE } from './expected.ts'
import { missingColumns } from './inspect.ts'
import type { AuthKysely } from './kysely-tables.ts'
import { type MigrationDialect, type MigrationReport, migrate } from './migrations.ts'
import type { RenamedTables } from './own-names.ts'
import { recordTables } from './record-tables.ts'
import type { Tables } from './table.ts'
import { USER_TABLES, withColumns } from './tables.ts'

interface Preparation {
  readonly columns: AddedColumns
  readonly migrates: boolean
  /** The app's names of our tables. @default our names */
  readonly names?: RenamedTables | undefined
}

/** Migrates the tables of users. With `migrate: false`, checks those that the app's tool has created. */
export async function prepareTables(
  db: AuthKysely,
  types: MigrationDialect,
  { columns, migrates, names }: Preparation,
): Promise<MigrationReport> {
  if (!migrates) {
    await requireTables(db, types, { tables: withColumns(USER_TABLES, columns), names })
    return { applied: [] }
  }
  const { applied } = await migrate(db, types)
  return { applied: [...applied, ...(await addColumns(db, types, columns))] }
}

/** Does the same for the tables of plugins. @throws ConfigurationError */
export async function preparePlugins(
  plugins: readonly AuthPlugin[],
  database: Pick<SessionDatabase, 'db' | 'types' | 'migrates' | 'names' | 'restore'>,
): Promise<MigrationReport> {
  const { db, types, migrates = true, names } = database
  if (migrates) return migratePlugins(plugins, database)
  await requireTables(db, types, { tables: await recordTables(plugins, types.engine), names })
  return { applied: [] }
}

/** Adds the columns that the plugins declare, then runs the migrations of each plugin. */
export async function migratePlugins(
  plugins: readonly AuthPlugin[],
  { db, types, restore }: Pick<SessionDatabase, 'db' | 'types' | 'restore'>,
): Promise<MigrationReport> {
  const applied = await addColumns(db, types, columnsOf({ plugins }))
  for (const plugin of plugins) {
    const { id, migrations } = plugin
    if (migrations === undefined) continue
    const tables = await tablesOf(plugin, types)
    const report = await migrate(db, types, { owner: id, migrations, tables })
    applied.push(...report.applied.map((name) => `${id} ${name}`))
  }
  if (applied.length > 0) await restore?.()
  return { applied }
}

/** Returns the names of a plugin's tables, without internal ones; none if its migrations can't be read. */
async function tablesOf(plugin: AuthPlugin, { engine }: MigrationDialect): Promise<string[]> {
  const tables = await recordTables([plugin], engine).catch(() => ({}))
  return Object.keys(tables).filter((name) => !(name in USER_TABLES || name.includes('.')))
}

/** @throws ConfigurationError that names every missing table and column */
async function requireTables(
  db: AuthKysely,
  types: MigrationDialect,
  { tables, names }: { tables: Tables; names: RenamedTables | undefined },
): Promise<void> {
  const missing = await missingColumns(db, types.engine, columnNames(tables, names))
  if (missing.length > 0)
    throw new ConfigurationError(`Missing in the database: ${missing.join(', ')}. ${GENERATE}`)
}

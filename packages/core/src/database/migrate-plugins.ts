import type { AuthPlugin } from '../endpoints/definition.ts'
import { addColumns, columnsOf } from './columns.ts'
import { type AnyDatabase, toSessionDatabase } from './database.ts'
import { type MigrationReport, migrate } from './migrations.ts'

/**
 * Adds the columns that the plugins declare, then runs the migrations of each plugin.
 *
 * @throws the error of a failed migration; then none of that plugin is applied
 */
export async function migratePlugins(
  plugins: readonly AuthPlugin[],
  database: Pick<AnyDatabase, 'db' | 'types'>,
): Promise<MigrationReport> {
  const { db, types } = toSessionDatabase(database)
  const applied = await addColumns(db, types, columnsOf({ plugins }))
  for (const { id, migrations } of plugins) {
    if (migrations === undefined) continue
    const report = await migrate(db, types, { owner: `sallyport_${id}`, migrations })
    applied.push(...report.applied.map((name) => `${id} ${name}`))
  }
  return { applied }
}

import type { AuthPlugin } from '../definition.ts'
import type { SessionDatabase } from '../session/session-database.ts'
import { type MigrationReport, migrate } from './migrations.ts'

/**
 * Brings the tables and columns of the plugins up to date, one plugin after the other.
 *
 * @throws the error of the migration that failed; then none of that plugin is applied
 */
export async function migratePlugins(
  plugins: readonly AuthPlugin[],
  { db, types }: Pick<SessionDatabase, 'db' | 'types'>,
): Promise<MigrationReport> {
  const applied: string[] = []
  for (const { id, migrations } of plugins) {
    if (migrations === undefined) continue
    const report = await migrate(db, types, { owner: `sallyport_${id}`, migrations })
    applied.push(...report.applied.map((name) => `${id} ${name}`))
  }
  return { applied }
}

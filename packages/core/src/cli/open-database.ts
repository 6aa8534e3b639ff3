import type { MigrationReport } from '../database/migrations.ts'
import type { SessionDatabase } from '../database/session-database.ts'

export interface OpenDatabase extends SessionDatabase {
  readonly migrations: MigrationReport
  close(): Promise<void>
}

/** Migrations of large tables take long. */
const MAX_STATEMENT_MS = 60 * 60 * 1000

/** Opens the database of a URL with its driver. `create: false` rejects a missing SQLite file. */
export async function openDatabase(url: string, options: { create?: boolean } = {}): Promise<OpenDatabase> {
  if (/^postgres(ql)?:/.test(url)) {
    const { openPostgres } = await import('../postgres.ts')
    return openPostgres(url, { statementTimeoutMs: MAX_STATEMENT_MS })
  }
  const { openSqlite } = await import('../sqlite.ts')
  return openSqlite(url, options)
}

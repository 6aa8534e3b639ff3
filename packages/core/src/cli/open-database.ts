import type { MigrationReport } from '../database/migrations.ts'
import type { SessionDatabase } from '../database/session-database.ts'

/** A database that was opened by its URL. */
export interface OpenDatabase extends SessionDatabase {
  readonly migrations: MigrationReport
  close(): Promise<void>
}

/** Nobody waits for an answer here, and a migration of a large table takes its time. */
const LONGEST_STATEMENT_MS = 60 * 60 * 1000

/**
 * Opens whatever database a URL names. Each driver is loaded only where it is needed.
 *
 * @param options.create whether a SQLite file that is not there is made
 */
export async function openDatabase(url: string, options: { create?: boolean } = {}): Promise<OpenDatabase> {
  if (/^postgres(ql)?:/.test(url)) {
    const { openPostgres } = await import('../postgres.ts')
    return openPostgres(url, { statementTimeoutMs: LONGEST_STATEMENT_MS })
  }
  const { openSqlite } = await import('../sqlite.ts')
  return openSqlite(url, options)
}

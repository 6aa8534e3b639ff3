import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite, type SqliteOptions } from '@sallyport/core/sqlite'

/** What both databases offer. */
export type AppDatabase = Awaited<ReturnType<typeof openPostgres>> | Awaited<ReturnType<typeof openSqlite>>

/** Opens the database that the URL names. */
export function openDatabase(url: string, options?: Pick<SqliteOptions, 'columns'>): Promise<AppDatabase> {
  return url.startsWith('postgres:') ? openPostgres(url, options) : openSqlite(url, options)
}

import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'

/** What both databases offer. */
export type AppDatabase = Awaited<ReturnType<typeof openPostgres>> | Awaited<ReturnType<typeof openSqlite>>

/** Opens the database that the URL names. */
export function openDatabase(url: string): Promise<AppDatabase> {
  return url.startsWith('postgres:') ? openPostgres(url) : openSqlite(url)
}

import { openPostgres, type PostgresOptions } from '@sallyport/core/postgres'
import { openSqlite, type SqliteOptions } from '@sallyport/core/sqlite'

/** What both databases offer. */
export type AppDatabase = Awaited<ReturnType<typeof openPostgres>> | Awaited<ReturnType<typeof openSqlite>>

/** Opens the database that the URL names. */
export function openDatabase(
  url: string,
  { timeouts, ...options }: Pick<SqliteOptions, 'columns'> & { readonly timeouts?: PostgresOptions } = {},
): Promise<AppDatabase> {
  return url.startsWith('postgres:')
    ? openPostgres(url, { connectTimeoutMs: 60_000, ...timeouts, ...options })
    : openSqlite(url, options)
}

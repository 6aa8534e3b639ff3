import type { PostgresClient, PostgresHttpClient } from '@sallyport/core/postgres'
import type { D1Client, SqliteClient } from '@sallyport/core/sqlite'

/** A client that our stores can read with. */
export type DatabaseClient = SqliteClient | D1Client | PostgresClient | PostgresHttpClient

export type FoundClient =
  | { readonly kind: 'sqlite'; readonly client: SqliteClient }
  | { readonly kind: 'd1'; readonly client: D1Client }
  | { readonly kind: 'postgres'; readonly client: PostgresClient }
  | { readonly kind: 'neon-http'; readonly client: PostgresHttpClient }

/** Returns the first value that is a database client, or null. */
export function findClient(values: readonly unknown[]): FoundClient | null {
  for (const value of values) {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) continue
    if (isSqlite(value)) return { kind: 'sqlite', client: value }
    if (isD1(value)) return { kind: 'd1', client: value }
    if (isPostgres(value)) return { kind: 'postgres', client: value }
    if (isNeonHttp(value)) return { kind: 'neon-http', client: value }
  }
  return null
}

function isSqlite(value: object): value is SqliteClient {
  if (has(value, 'execute', 'transaction', 'protocol')) return true
  return has(value, 'prepare') && ['open', 'isOpen', 'filename'].some((name) => name in value)
}

function isD1(value: object): value is D1Client {
  return has(value, 'prepare', 'batch', 'exec')
}

function isPostgres(value: object): value is PostgresClient {
  return (
    has(value, 'connect', 'totalCount') ||
    has(value, 'unsafe', 'begin', 'listen') ||
    has(value, 'query', 'transaction', 'listen')
  )
}

function isNeonHttp(value: object): value is PostgresHttpClient {
  return typeof value === 'function' && has(value, 'query', 'transaction')
}

function has(value: object, ...names: readonly string[]): boolean {
  return names.every((name) => name in value)
}

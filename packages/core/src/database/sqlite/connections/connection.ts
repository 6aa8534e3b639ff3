import type { SqliteDatabase } from 'kysely'

/** A connection of a synchronous SQLite library: Kysely's `SqliteDatabase` with prepared lookups. */
export interface SqliteConnection extends SqliteDatabase {
  readonly inTransaction: boolean
  /** Prepares a statement that returns rows as arrays. */
  prepareRow<Values>(sql: string): RowStatement<Values>
}

export interface RowStatement<Values> {
  get(...parameters: string[]): Values | undefined
  all(...parameters: string[]): Values[]
}

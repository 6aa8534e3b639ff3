import type { Kysely } from 'kysely'
import type { AddedColumns } from '../session/added-columns.ts'
import type { AuthDatabase, AuthStore } from '../session/auth-store.ts'
import type { SessionLocks } from './find-session-sql.ts'
import type { OwnSessions } from './mapped-sessions.ts'
import type { AuthKysely, AuthTables } from './schema/kysely-tables.ts'
import type { StoreMapping } from './schema/mapping.ts'
import type { MigrationReport } from './schema/migrations.ts'
import type { OwnNames } from './schema/own-names.ts'
import type { SessionDatabase } from './session-database.ts'

/** The columns of `session` and `user` that an app adds to ours. */
export interface ColumnsOptions {
  /** `authColumns` of `generated/database.ts`, which `sallyport generate` writes. @default none */
  readonly columns?: AddedColumns
  /**
   * If false, the app's tool migrates `user`, `session`, `account`, and the tables of plugins, from the
   * schema that `sallyport generate --schema` writes. They are only checked. Our internal tables remain ours.
   * @default true
   */
  readonly migrate?: boolean
}

export interface OwnTablesOptions extends ColumnsOptions {
  /** The app's names for our tables, which its own tool creates. @default our names */
  readonly names?: OwnNames
}

/** The tables of another library. Columns that `columns` adds must exist; `mapping` may rename them. */
export interface MappingOptions extends Pick<ColumnsOptions, 'columns'> {
  readonly mapping: StoreMapping
}

/** An open database with our tables, and the app's own `Tables`. */
export interface OpenedDatabase<Tables>
  extends Omit<SessionDatabase, 'db' | 'onEvent' | 'request' | 'hooks'> {
  /** Kysely, for the context of a call. Runs on the write queue in SQLite and on a pool in PostgreSQL. */
  readonly db: Kysely<AuthTables & Tables> & AuthDatabase
  /** The migrations that ran when it was opened. */
  readonly migrations: MigrationReport
  /** Closes its connections. */
  close(): Promise<void>
}

/** An open store without interactive transactions, which only guards calls. Pass it to `withAuthStore`. */
export interface OpenedReader
  extends Required<Omit<AuthStore, 'database' | 'locks' | 'issuer'>>,
    Pick<AuthStore, 'issuer'> {
  /** Closes its connections. */
  close(): Promise<void>
}

/** An open store on tables that another library owns. Pass it to `withAuthStore`. */
export interface OpenedStore extends OpenedReader, OwnSessions, Pick<SessionDatabase, 'isReplaced'> {
  readonly locks: SessionLocks
}

/** A {@link SessionDatabase} that may have more tables. TypeScript before 6 rejects a Kysely with more. */
export type AnyDatabase = Omit<SessionDatabase, 'db'> & { readonly db: AuthDatabase | AuthKysely }

export function toSessionDatabase(database: AnyDatabase): SessionDatabase {
  return database as SessionDatabase
}

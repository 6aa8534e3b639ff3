import type { Kysely } from 'kysely'
import type { AddedColumns } from '../session/added-columns.ts'
import type { AuthDatabase, AuthStore } from '../session/auth-store.ts'
import type { MigrationReport } from './migrations.ts'
import type { AuthTables } from './schema.ts'
import type { SessionDatabase } from './session-database.ts'

/** The columns that an auth definition adds to our tables. */
export interface ColumnsOptions {
  /** `authColumns` of `generated/database.ts`, or `columnsOf(definition)`. @default none */
  readonly columns?: AddedColumns
}

/** An open database with our tables, and the app's own `Tables`. */
export interface OpenedDatabase<Tables>
  extends Pick<SessionDatabase, 'sessions' | 'revocations' | 'limits' | 'columns' | 'types'> {
  /** Kysely, for the context of a call. Runs on the write queue in SQLite and on a pool in PostgreSQL. */
  readonly db: Kysely<AuthTables & Tables> & AuthDatabase
  /** The migrations that ran when it was opened. */
  readonly migrations: MigrationReport
  /** Closes its connections. */
  close(): Promise<void>
}

/** An open store on tables that another library owns. Pass it to `withAuthStore`. */
export interface OpenedStore extends AuthStore {
  /** Closes its connections. */
  close(): Promise<void>
}

/** A {@link SessionDatabase} that may have more tables. TypeScript before 6 rejects a Kysely with more. */
export type AnyDatabase = SessionDatabase | (Omit<SessionDatabase, 'db'> & { readonly db: AuthDatabase })

export function toSessionDatabase(database: AnyDatabase): SessionDatabase {
  return database as SessionDatabase
}

import type { Kysely } from 'kysely'
import type { RateLimitStore } from '../rate-limit/rate-limit.ts'
import type { RevocationFeed } from '../revocations/feed.ts'
import type { AddedColumns } from '../session/added-columns.ts'
import type { AuthDatabase, AuthStore } from '../session/auth-store.ts'
import type { SessionStore } from '../session/session-store.ts'
import type { MigrationDialect, MigrationReport } from './migrations.ts'
import type { AuthTables } from './schema.ts'

/** What an auth definition adds to our tables. */
export interface ColumnsOptions {
  /** The columns that it adds: `authColumns` of `generated/database.ts`, or `columnsOf(definition)`. @default none */
  readonly columns?: AddedColumns
}

/** An open database with our tables. */
export interface OpenedDatabase<Tables> {
  /** Kysely, in SQLite on the write queue and in PostgreSQL on a pool; goes into the context of a call as `db`. `Tables` are the app's own. */
  readonly db: Kysely<AuthTables & Tables> & AuthDatabase
  /** Step 2, on a connection of its own that only reads. */
  readonly sessions: SessionStore
  /** Tells of revocations, those of other processes too. */
  readonly revocations: RevocationFeed
  /** Counts attempts in the same database; in memory for `:memory:`. */
  readonly limits: RateLimitStore
  /** The columns besides ours that Step 2 reads here. */
  readonly columns: AddedColumns
  /** How migrations write their types here. */
  readonly types: MigrationDialect
  /** What the migrations did while opening. */
  readonly migrations: MigrationReport
  /** Closes its connections. */
  close(): Promise<void>
}

/** What the two steps need of a database whose tables another library owns, and what ends it. */
export interface OpenedStore extends AuthStore {
  /** Closes its connections. */
  close(): Promise<void>
}

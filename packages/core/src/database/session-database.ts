import type { Transaction } from 'kysely'
import type { AuthEvent, EventListener, EventRequest } from '../events/event.ts'
import type { RateLimitStore } from '../rate-limit/rate-limit.ts'
import type { RevocationFeed } from '../revocations/feed.ts'
import type { AddedColumns } from '../session/added-columns.ts'
import type { SessionStore } from '../session/session.ts'
import type { SessionLocks } from './find-session-sql.ts'
import type { AuthKysely, AuthTables } from './schema/kysely-tables.ts'
import type { MigrationDialect } from './schema/migrations.ts'
import type { RenamedTables } from './schema/own-names.ts'

/** A database in which sessions begin and end, such as `openSqlite` returns. */
export interface SessionDatabase {
  readonly db: AuthKysely
  /** Step 2, on separate connections that only read. */
  readonly sessions: SessionStore
  /** Publishes the revocations of every process. */
  readonly revocations: RevocationFeed
  /** Stores the rate limits in the same database, or in memory for `:memory:`. */
  readonly limits: RateLimitStore
  /** The added columns that Step 2 reads. */
  readonly columns: AddedColumns
  /** The statements of Step 2 in a transaction. */
  readonly locks: SessionLocks
  /** The column types of this engine, for migrations. */
  readonly types: MigrationDialect
  /** False if the app's tool migrates the tables of users and plugins. @default true */
  readonly migrates?: boolean
  /** Creates our triggers on tables that plugins have created since. @default nothing */
  readonly restore?: () => Promise<unknown>
  /** The app's names of our tables, which another library may use too. @default our names */
  readonly names?: RenamedTables | undefined
  /** Called with each event after its commit. */
  readonly onEvent?: EventListener | undefined
  /** Returns whether the file of the database was removed or replaced. Absent without a file. */
  readonly isReplaced?: (() => boolean) | undefined
  /** The request that causes the changes, recorded with each event. */
  readonly request?: EventRequest
  /** Run inside the transaction of a change. A hook that throws rolls it back. */
  readonly hooks?: readonly ChangeHook[]
}

/** A transaction on our tables. */
export type AuthTransaction = Transaction<AuthTables>

/** An event that is committed with its change, as a row in `sallyport.audit`. */
export type ChangeEvent = Exclude<AuthEvent, { type: 'decision.denied' }>

/** Records an event in the current transaction. */
export type RecordEvent = (event: ChangeEvent) => void

/** Runs in the transaction of a change, and rolls it back by throwing. Hooks also get events it records. */
export type ChangeHook = (event: ChangeEvent, trx: AuthTransaction, record: RecordEvent) => Promise<void>

import type { SessionLocks } from '../database/find-session-sql.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import type { RateLimitStore } from '../rate-limit/rate-limit.ts'
import type { RevocationFeed } from '../revocations/feed.ts'
import type { SessionReader } from './session.ts'

/** The member of a database handle that holds its {@link AuthStore}. */
export const authStore: unique symbol = Symbol.for('sallyport.authStore') as never

/** The parts of a database that guarded procedures use. */
export interface AuthStore {
  readonly sessions: SessionReader
  readonly revocations: RevocationFeed
  /** Stores the counters of `rateLimit`. */
  readonly limits?: RateLimitStore
  /** For `ctx.transaction` with our Kysely. Absent if another library owns the tables. */
  readonly database?: SessionDatabase
  /** For `ctx.transaction` with the app's client. Absent if it has no interactive transactions. */
  readonly locks?: SessionLocks | undefined
  /** @internal The `mapping.issuer` of a mapped table, if it has one. */
  readonly issuer?: string | undefined
}

/** A database handle for `ctx.db`, such as the `db` of `openSqlite`. */
export interface AuthDatabase<Store extends AuthStore = AuthStore> {
  readonly [authStore]: Store
}

/** Returns the session reader of a database handle, for Step 2. */
export function sessionsOf(db: AuthDatabase): SessionReader {
  return db[authStore].sessions
}

/**
 * Adds the store to a database handle of any kind, so it can be `ctx.db`. Returns the handle.
 * @example const db = withAuthStore(drizzle(client), { sessions, revocations })
 */
export function withAuthStore<Database extends object, Store extends AuthStore>(
  db: Database,
  store: Store,
): Database & AuthDatabase<Store> {
  return Object.assign(db, { [authStore]: store })
}

import type { AuthTransaction } from '../database/auth-transaction.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import type { RateLimitStore } from '../rate-limit/rate-limit.ts'
import type { RevocationFeed } from '../revocations/feed.ts'
import type { SessionReader } from './session-store.ts'

/** Where a database handle keeps what the two steps need of it. */
export const authStore: unique symbol = Symbol.for('sallyport.authStore') as never

/** What the two steps need of a database. */
export interface AuthStore {
  readonly sessions: SessionReader
  readonly revocations: RevocationFeed
  /** Counts attempts, for `rateLimit`. */
  readonly limits?: RateLimitStore
  /**
   * Where sessions begin and end, and where `ctx.transaction` writes. Absent where another library has the database: `lockSession` is for
   * its transactions.
   */
  readonly database?: SessionDatabase
  /** Bounds each further statement of a transaction, where the database can, so that none outlives the time of `ctx.transaction`. */
  readonly limitStatements?: (trx: AuthTransaction, timeoutMs: number) => Promise<void>
}

/** A database handle that carries the store: the `db` of `openSqlite`, and what belongs into a context as `ctx.db`. */
export interface AuthDatabase {
  readonly [authStore]: AuthStore
}

/** The adapter of a context that has a database: queries, mutations and subscriptions (spec section 1). */
export function sessionsOf(db: AuthDatabase): SessionReader {
  return db[authStore].sessions
}

/**
 * Lets a database handle of any kind carry the store, so that it can be a context's `db`. The handle itself is returned.
 *
 * @example const db = withAuthStore(drizzle(client), { sessions, revocations })
 */
export function withAuthStore<Database extends object>(
  db: Database,
  store: AuthStore,
): Database & AuthDatabase {
  return Object.assign(db, { [authStore]: store })
}

import type { AuthConfig, AuthError, Session, SessionDatabase } from '@sallyport/core'
import { ConfigurationError } from '@sallyport/core'
import { transact } from '@sallyport/core/internal/server'
import { TRPCError } from '@trpc/server'
import { authRequest } from './auth-handle.ts'
import type { CallLease } from './call-lease.ts'
import { storeOf } from './get-session.ts'
import type { CallOptions } from './middleware.ts'

type Transactional<Trx> = {
  transaction(): { execute(callback: (trx: Trx) => Promise<unknown>): unknown }
}

/** The transaction of a database: with the app's tables if it is Kysely's, else with Sallyport's. */
export type TransactionOf<Db> =
  Db extends Transactional<infer Trx>
    ? Trx
    : SessionDatabase['db'] extends Transactional<infer Trx>
      ? Trx
      : never

/** The context member that {@link sensitiveSessionMiddleware} adds for writes. */
export interface TransactionContext {
  /**
   * Locks the user and the session, reads both again, then runs `fn` in that transaction. Its writes commit
   * before a revocation of the session, or not at all. This holds **only** for writes by `trx`. In SQLite, a
   * write by `ctx.db` inside `fn` deadlocks until the 2 s are over.
   *
   * `fn` has 2 s once the locks are held. After that, or when the client disconnects, everything is rolled
   * back and `trx` rejects every call. `fn` never runs twice, and transactions of a call can't overlap.
   *
   * @throws AuthError with the reason if the session no longer authorizes the call; `SESSIONS_UNAVAILABLE` if
   * `fn` takes too long or deadlocks, or the database is gone. Don't catch it: the client needs the reason
   * @throws ConfigurationError without a Kysely database. Call `lockSession` in your own transaction instead
   */
  transaction<Db, Result>(
    this: { readonly db: Db },
    fn: (trx: TransactionOf<Db>) => Promise<Result>,
  ): Promise<Result>
}

/** Creates `ctx.transaction` for a call. Under the locks it checks the conditions of all guards again. */
export function createTransaction(
  { ctx, signal }: CallOptions,
  lease: CallLease,
  errorOf: (session: Session, config: AuthConfig) => AuthError | null,
): TransactionContext['transaction'] {
  const { config } = ctx.auth[authRequest]
  let isOpen = false

  return async (fn) => {
    const { database, limitStatements } = storeOf(ctx)
    if (database === undefined)
      throw new ConfigurationError(
        'ctx.transaction needs the db of openSqlite() or openPostgres(): in a transaction of another library, call lockSession() first',
      )
    // A second transaction would wait for a lock that the first one holds.
    if (isOpen) throw new Error('This call has an open ctx.transaction. Use its trx, or wait until it ends')
    isOpen = true
    const { db, columns } = database
    const authorize = (session: Session) => {
      const error = errorOf(session, config) ?? lease.errorOf(session)
      if (error !== null) throw error
    }
    const options = { config, columns, authorize, signal, limitStatements }
    try {
      return await transact(db, lease.read.identity, options, (trx) => fn(trx as never))
    } catch (cause) {
      const isCallerGone = signal?.aborted && cause === signal.reason
      throw isCallerGone ? new TRPCError({ code: 'CLIENT_CLOSED_REQUEST', cause }) : cause
    } finally {
      isOpen = false
    }
  }
}

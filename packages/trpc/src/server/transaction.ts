import type { Session, SessionDatabase } from '@sallyport/core'
import { ConfigurationError } from '@sallyport/core'
import { transact } from '@sallyport/core/internal/server'
import { TRPCError } from '@trpc/server'
import { authRequest } from './auth-handle.ts'
import type { CallLease, Condition } from './call-lease.ts'
import type { CallOptions } from './guard.ts'
import { storeOf } from './store-of.ts'

/** A Kysely database, as far as its transactions go. */
type Transactional<Trx> = {
  transaction(): { execute(callback: (trx: Trx) => Promise<unknown>): unknown }
}

/** The transaction of a database: one of Kysely has the tables of the app, any other has ours. */
export type TransactionOf<Db> =
  Db extends Transactional<infer Trx>
    ? Trx
    : SessionDatabase['db'] extends Transactional<infer Trx>
      ? Trx
      : never

/** What a sensitive session middleware adds to the context. */
export interface TransactionContext {
  /**
   * Writes on behalf of the session: locks and reads the user and the session again, then runs `fn` in that transaction. What it writes is
   * committed before a revocation of the session or not at all. **Only** writes by `trx` carry that promise: what `fn` does by `ctx.db`, in
   * another database or in the rest of the world does not, and in SQLite a write by `ctx.db` inside `fn` waits for the very transaction
   * that waits for it, until the 2 s are over.
   *
   * `fn` has 2 s from the moment that the locks are held. After that, or when the caller goes away, everything is undone and `trx`
   * refuses every call. It is never run twice. One transaction at a time: inside `fn`, use its `trx`.
   *
   * Call it as `ctx.transaction(...)`: the tables of `trx` are those of `ctx.db`.
   *
   * @throws AuthError `SESSION_NOT_FOUND`, `SESSION_EXPIRED`, `ACCOUNT_BANNED`, `TOKEN_INVALID`, `SESSION_NOT_FRESH` or `ROLE_REQUIRED`
   * where that has come about since the call was authorized; `SESSIONS_UNAVAILABLE` when `fn` takes too long, gets into a deadlock or the
   * database is gone. Let it out of the resolver: the client is told the reason
   * @throws ConfigurationError where the database of the app is not Kysely's; there `lockSession` does the same in a transaction of its own
   */
  transaction<Db, Result>(
    this: { readonly db: Db },
    fn: (trx: TransactionOf<Db>) => Promise<Result>,
  ): Promise<Result>
}

/**
 * Creates `ctx.transaction` for a call. Under the locks it checks the conditions again that the session met before the resolver ran.
 *
 * @param condition that of the guard itself
 */
export function createTransaction(
  { ctx, signal }: CallOptions,
  lease: CallLease,
  condition: Condition,
): TransactionContext['transaction'] {
  let isOpen = false

  function authorize(session: Session): void {
    const error = condition(session) ?? lease.errorOf(session)
    if (error !== null) throw error
  }

  async function run<Result>(fn: (trx: never) => Promise<Result>): Promise<Result> {
    const { database, limitStatements } = storeOf(ctx)
    if (database === undefined)
      throw new ConfigurationError(
        'ctx.transaction needs the db of openSqlite() or openPostgres(): in a transaction of another library, call lockSession() first',
      )
    // It would wait for a lock that the first one holds.
    if (isOpen) throw new Error('A ctx.transaction of this call is open: use its trx, or wait for its end')
    isOpen = true
    const { config } = ctx.auth[authRequest]
    const { db, columns } = database
    try {
      return await transact(
        db,
        lease.read.identity,
        { config, columns, authorize, signal, limitStatements },
        (trx) => fn(trx as never),
      )
    } catch (cause) {
      throw signal?.aborted && cause === signal.reason
        ? new TRPCError({ code: 'CLIENT_CLOSED_REQUEST', cause })
        : cause
    } finally {
      isOpen = false
    }
  }

  return (fn) => run(fn)
}

import type { AuthConfig, AuthDatabase, AuthStore, Identity, Session, SessionDatabase } from '@sallyport/core'
import { AuthError, ConfigurationError, isAuthError, validateSession } from '@sallyport/core'
import { isSessionOver } from '@sallyport/core/internal/protocol'
import { isCopyOf, transact, transactInClient, transactionsOf } from '@sallyport/core/internal/server'
import { TRPCError } from '@trpc/server'
import { authRequest } from './auth-handle.ts'
import type { CallLease } from './call-lease.ts'
import { storeOf } from './get-session.ts'
import type { CallOptions } from './middleware.ts'

type KyselyClient<Trx> = {
  transaction(): { execute(callback: (trx: Trx) => Promise<unknown>): unknown }
}
type PrismaClient<Trx> = { $transaction(work: (trx: Trx) => Promise<unknown>): Promise<unknown> }
type DrizzleClient<Trx> = { transaction(work: (trx: Trx) => Promise<unknown>): unknown }

/** The transaction of a database: that of Kysely, Prisma, or Drizzle, else Sallyport's own. */
export type TransactionOf<Db> =
  Db extends KyselyClient<infer Trx>
    ? Trx
    : Db extends PrismaClient<infer Trx>
      ? Trx
      : Db extends DrizzleClient<infer Trx>
        ? Trx
        : SessionDatabase['db'] extends KyselyClient<infer Trx>
          ? Trx
          : never

/** Rejects a client without interactive transactions, such as Cloudflare D1 or the pool of a driver. */
type Interactive<Db> =
  Db extends AuthDatabase<infer Store>
    ? [Extract<keyof Store, 'database' | 'locks'>] extends [never]
      ? NotInteractive
      : 'database' extends keyof Store
        ? unknown
        : HasTransactions<Db>
    : unknown

/** Also accepts a client that is only known to be an object. */
type HasTransactions<Db> = [Exclude<keyof Db, keyof AuthDatabase>] extends [never]
  ? unknown
  : [Extract<keyof Db, 'transaction' | '$transaction'>] extends [never]
    ? NotInteractive
    : unknown

type NotInteractive =
  'ctx.transaction needs the client of Kysely, Drizzle, or Prisma as ctx.db, not a pool, D1, or HTTP'

/** Accepts a client whose transactions are synchronous, such as Drizzle on better-sqlite3, or any other. */
type Mode<Db, Wanted extends 'sync' | 'async'> = (
  Db extends { transaction(...options: never): infer Result }
    ? unknown extends Result
      ? 'sync'
      : 'async'
    : 'async'
) extends Wanted
  ? unknown
  : 'The transactions of this client are synchronous: the function must not return a promise'

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
   * With a client of the app, `trx` is the transaction of that client, and the rollback waits until `fn`
   * returns. Drizzle on better-sqlite3 is synchronous, so `fn` can't be `async`.
   *
   * @throws AuthError with the reason if the session no longer authorizes the call; `SESSIONS_UNAVAILABLE` if
   * `fn` takes too long or deadlocks, or the database is gone. Don't catch it: the client needs the reason
   * @throws ConfigurationError for another client. Call `lockSession` in your own transaction instead
   */
  transaction<Db, Result>(
    this: { readonly db: Db & Mode<Db, 'sync'> & Interactive<Db> },
    fn: (trx: TransactionOf<Db>) => Result extends PromiseLike<unknown> ? never : Result,
  ): Promise<Result>
  transaction<Db, Result>(
    this: { readonly db: Db & Mode<Db, 'async'> & Interactive<Db> },
    fn: (trx: TransactionOf<Db>) => Promise<Result>,
  ): Promise<Result>
}

/** Creates `ctx.transaction` for a call. Under the locks it checks the conditions of all guards again. */
export function createTransaction(
  { ctx, type, signal: caller }: CallOptions,
  lease: CallLease,
  errorOf: (session: Session, config: AuthConfig) => AuthError | null,
): TransactionContext['transaction'] {
  const { config, closed } = ctx.auth[authRequest]
  let isOpen = false

  return async function transaction(this: { readonly db: object } | undefined, fn: (trx: never) => unknown) {
    const store = storeOf(ctx)
    const db = 'db' in ctx ? ctx.db : undefined
    // The type of `trx` comes from the final context, whose `db` a later middleware may have replaced.
    const client = this?.db ?? db
    // A second transaction would wait for a lock that the first one holds.
    if (isOpen) throw new Error('This call has an open ctx.transaction. Use its trx, or wait until it ends')
    isOpen = true
    const { identity, session: read } = lease.read
    const authorize = (session: Session) => {
      if (isReplaced(session, read)) throw new AuthError('TOKEN_INVALID')
      const error = errorOf(session, config) ?? lease.errorOf(session)
      if (error !== null) throw error
    }
    // Over WebSocket, tRPC aborts only the signals of subscriptions. Others aren't combined: in Node.js 22,
    // each combined signal leaves memory behind until the socket closes.
    const isStopped = type === 'subscription' && caller && closed
    const signal = isStopped ? AbortSignal.any([caller, closed]) : (closed ?? caller)
    const options = { config, authorize, signal }
    const work = (trx: object) => fn(trx as never)
    try {
      const { database } = store
      const own = database && ownKysely(client === db ? undefined : client, database)
      if (database === undefined || !own)
        return await transactInClient(identity, { ...options, ...clientOf(client, store) }, work)
      const { locks } = database
      return await transact(own, identity, { ...options, locks }, async (trx) => work(trx))
    } catch (cause) {
      const isCallerGone = signal?.aborted && cause === signal.reason
      if (isCallerGone) throw new TRPCError({ code: 'CLIENT_CLOSED_REQUEST', cause })
      throw await reasonOf(cause, { identity, store, config })
    } finally {
      isOpen = false
    }
  }
}

/**
 * Returns whether a locked session has the id of a deleted one. If a database may use ids again, the guard of
 * Better Auth adds a version when it reads a session: its creation. The locks don't read a version.
 */
function isReplaced(locked: Session, read: Session): boolean {
  const isVersionAdded = read.version !== null && locked.version === null
  return isVersionAdded && locked.lastAuthenticatedAt !== read.lastAuthenticatedAt
}

/**
 * Returns the error that a call without a transaction gets. The locks find no session of a user whom Better
 * Auth has banned, because it deletes them; the store says so.
 */
async function reasonOf(
  error: unknown,
  { identity, store, config }: { identity: Identity; store: AuthStore; config: AuthConfig },
): Promise<unknown> {
  if (!isAuthError(error) || !isSessionOver(error.reason)) return error
  return validateSession(identity, store.sessions, config).then(
    () => error,
    (reason: unknown) => reason,
  )
}

/** Returns our Kysely, or its copy that replaced `ctx.db`. Null for another client with transactions. */
function ownKysely(replaced: object | undefined, { db }: SessionDatabase): SessionDatabase['db'] | null {
  const { transaction, $transaction }: { transaction?: unknown; $transaction?: unknown } = Object(replaced)
  // With Prisma, `transaction` may be a model.
  if (![transaction, $transaction].some((method) => typeof method === 'function')) return db
  return replaced && isCopyOf(replaced, db) ? replaced : null
}

/** @throws ConfigurationError if the database isn't a client with transactions that we know */
function clientOf(client: object | undefined, { database, locks = database?.locks }: AuthStore) {
  const transactions = client && locks ? transactionsOf(client, locks.sql.engine) : null
  if (client && locks && transactions) return { locks, transactions }
  throw new ConfigurationError(
    'ctx.transaction needs a ctx.db of Kysely, Drizzle, or Prisma, and a store with transactions. With another client, call lockSession() first in its transaction.',
  )
}

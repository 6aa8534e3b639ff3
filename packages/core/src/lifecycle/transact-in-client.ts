import type { SessionLocks } from '../database/find-session-sql.ts'
import type { Identity } from '../jwt/identity.ts'
import { DeadlineError, withDeadline } from '../protocol/deadline.ts'
import { AuthError, isAuthError } from '../protocol/errors.ts'
import { isThenable } from '../protocol/is-thenable.ts'
import { checkIdentity } from '../session/authenticate.ts'
import { isConflict } from '../session/conflict.ts'
import type { StoredSession } from '../session/session.ts'
import type { ClientTransactions } from './client-transactions.ts'
import { configurationFault, findLocked, LOCK_TIMEOUT_MS } from './lock-session.ts'
import { workNow } from './synchronous-work.ts'
import { LIMIT_STATEMENTS, MAX_WORK_MS, type TransactOptions } from './transact.ts'
import { inUserQueue } from './user-queue.ts'

interface ClientOptions extends Pick<TransactOptions, 'config' | 'authorize' | 'signal'> {
  readonly transactions: ClientTransactions
  readonly locks: SessionLocks
}

/**
 * Does what `transact` does, in a transaction of the app's own client. Late work is rolled back once it has
 * settled: some clients run a statement that comes after a rollback outside the transaction.
 * @throws ConfigurationError if the client is synchronous and the work returns a promise
 */
export async function transactInClient<Result>(
  identity: Identity,
  { transactions, locks, config, authorize, signal }: ClientOptions,
  work: (trx: object) => Result | Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted()
  const end = Promise.withResolvers<never>()
  const finished = Promise.withResolvers<Result>()
  for (const { promise } of [end, finished]) promise.catch(() => {})
  let hasEnded = false
  const giveUp = (reason: unknown) => {
    hasEnded = true
    end.reject(reason)
  }
  const abort = () => giveUp(signal?.reason)
  /** The error for which the transaction is rolled back. After any other error its outcome is unknown. */
  let rolledBackFor: unknown

  function check(found: StoredSession | null): void {
    const session = checkIdentity(identity, found, config)
    authorize?.(session)
  }

  /** Ends the call if the promise takes too long, but waits for the promise. */
  async function inTime<Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value> {
    withDeadline(promise, timeoutMs).catch((error: unknown) => {
      if (error instanceof DeadlineError) giveUp(error)
    })
    const value = await promise
    if (hasEnded) throw new DeadlineError('The call ended before its transaction')
    return value
  }

  async function lockAndWork(trx: object, finding: PromiseLike<StoredSession | null>): Promise<Result> {
    check(await inTime(Promise.resolve(finding).catch(rejectLookup), LOCK_TIMEOUT_MS))
    if (locks.sql.engine === 'postgres') await transactions.executeIn(trx)(LIMIT_STATEMENTS)
    return inTime(Promise.resolve(work(trx)), MAX_WORK_MS)
  }

  function run(trx: object): Result | Promise<Result> {
    const rollBack = (error: unknown) => {
      rolledBackFor = error
      throw error
    }
    try {
      const found = findNow(transactions.executeIn(trx), identity, locks)
      if (isThenable(found)) return lockAndWork(trx, found).catch(rollBack)
      check(found)
      return workNow(trx, work)
    } catch (error) {
      return rollBack(error)
    }
  }

  async function begin(): Promise<Result> {
    await transactions.begin((trx) => {
      const result = run(trx)
      finished.resolve(result)
      return result
    })
    return finished.promise
  }

  signal?.addEventListener('abort', abort, { once: true })
  const wait = (before: Promise<void>) => withDeadline(before, LOCK_TIMEOUT_MS)
  try {
    return await Promise.race([inUserQueue({ locks, userId: identity.userId, wait }, begin), end.promise])
  } catch (cause) {
    const isKnown = cause === rolledBackFor || (signal?.aborted && cause === signal.reason)
    if (isKnown && !isConflict(cause) && !(cause instanceof DeadlineError)) throw cause
    throw new AuthError('SESSIONS_UNAVAILABLE', { cause })
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

function findNow(...options: Parameters<typeof findLocked>): ReturnType<typeof findLocked> {
  try {
    return findLocked(...options)
  } catch (error) {
    return rejectLookup(error)
  }
}

/** A mistake that no retry fixes must not look like an outage. */
function rejectLookup(error: unknown): never {
  throw (
    configurationFault(error) ??
    (isAuthError(error) ? error : new AuthError('SESSIONS_UNAVAILABLE', { cause: error }))
  )
}

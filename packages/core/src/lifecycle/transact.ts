import type { AuthConfig } from '../config.ts'
import type { SessionLocks } from '../database/find-session-sql.ts'
import type { AuthKysely } from '../database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../database/session-database.ts'
import type { Identity } from '../jwt/identity.ts'
import { DeadlineError, withDeadline } from '../protocol/deadline.ts'
import { AuthError } from '../protocol/errors.ts'
import { validateIdentity } from '../session/authenticate.ts'
import { isConflict } from '../session/conflict.ts'
import type { Session } from '../session/session.ts'
import { kyselyExecute, LOCK_TIMEOUT_MS, query } from './lock-session.ts'
import { lockedSessions } from './locked-sessions.ts'
import { inUserQueue } from './user-queue.ts'

/** Revocations wait for the transaction. */
export const MAX_WORK_MS = 2_000

/** Otherwise, the end of the transaction would wait for a statement that hangs. */
export const LIMIT_STATEMENTS: TemplateStringsArray = query(`set local statement_timeout = ${MAX_WORK_MS}`)

export interface TransactOptions {
  readonly config: AuthConfig
  readonly locks: SessionLocks
  /** Throws if the locked session may not do this. */
  readonly authorize?: (session: Session) => void
  /** Aborts when the caller stops waiting. Then nothing is written. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Writes on behalf of a session: in one transaction, locks and validates the user and the session, then does
 * the work. It commits before a revocation of the session or not at all. Never retries, because the work may
 * have effects elsewhere.
 * @throws AuthError like `validateIdentity`; `SESSIONS_UNAVAILABLE` if the work takes over 2 s or deadlocks
 */
export async function transact<Result>(
  db: AuthKysely,
  identity: Identity,
  { config, locks, authorize, signal }: TransactOptions,
  work: (trx: AuthTransaction) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const unlessAborted = <Value>(promise: Promise<Value>) => Promise.race([promise, aborted.promise])

  async function run(trx: AuthTransaction): Promise<Result> {
    const lockConfig = { ...config, lookupTimeoutMs: LOCK_TIMEOUT_MS }
    const sessions = lockedSessions(trx, locks)
    const session = await unlessAborted(validateIdentity(identity, { config: lockConfig, sessions }))
    authorize?.(session)
    const { engine } = locks.sql
    if (engine === 'postgres')
      await kyselyExecute((query) => trx.executeQuery(query), engine)(LIMIT_STATEMENTS)
    return unlessAborted(withDeadline(work(trx), MAX_WORK_MS))
  }

  const wait = (before: Promise<void>) => unlessAborted(withDeadline(before, LOCK_TIMEOUT_MS))
  const queue = { locks, userId: identity.userId, wait }
  try {
    return await inUserQueue(queue, () => unlessAborted(db.transaction().execute(run)))
  } catch (cause) {
    const isUnknown = cause instanceof DeadlineError || isConflict(cause)
    throw isUnknown ? new AuthError('SESSIONS_UNAVAILABLE', { cause }) : cause
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

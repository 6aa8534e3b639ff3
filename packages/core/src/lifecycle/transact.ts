import type { AuthConfig } from '../config.ts'
import type { AuthTransaction } from '../database/auth-transaction.ts'
import type { AuthKysely } from '../database/schema.ts'
import type { Identity } from '../jwt/identity.ts'
import { DeadlineError, withDeadline } from '../protocol/deadline.ts'
import { AuthError } from '../protocol/errors.ts'
import type { AddedColumns } from '../session/added-columns.ts'
import { validateIdentity } from '../session/authenticate.ts'
import { isConflict } from '../session/conflict.ts'
import type { Session } from '../session/session.ts'
import { LOCK_TIMEOUT_MS, lockingAdapter } from './locking-adapter.ts'
import { inUserLine } from './user-line.ts'

/** How long the work of a transaction may take, in milliseconds: until it ends, a revocation has to wait. */
const LONGEST_WORK_MS = 2_000

/** What {@link transact} takes. */
export interface TransactOptions {
  readonly config: AuthConfig
  /** What a definition adds to the session. @default none */
  readonly columns?: AddedColumns | undefined
  /** Throws where the session, as it is now, may not do this. */
  readonly admit?: (session: Session) => void
  /** Aborts when nobody waits for the outcome any more: then nothing is written. */
  readonly signal?: AbortSignal | undefined
  /** Bounds each further statement, where the database can. */
  readonly limitStatements?: ((trx: AuthTransaction, timeoutMs: number) => Promise<void>) | undefined
}

/**
 * Writes on behalf of a session: both its user and it are locked and read again, and then the work is done, in one transaction. It is
 * committed before a revocation of the session or not at all. It is never tried twice, as the work may have effects elsewhere.
 *
 * @throws AuthError like `validateIdentity`; and `SESSIONS_UNAVAILABLE` when the work takes more than 2 s or gets into a deadlock
 */
export async function transact<Result>(
  db: AuthKysely,
  identity: Identity,
  { config, columns, admit, signal, limitStatements }: TransactOptions,
  work: (trx: AuthTransaction) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted()
  const left = Promise.withResolvers<never>()
  const leave = () => left.reject(signal?.reason)
  signal?.addEventListener('abort', leave, { once: true })
  /** Neither the transaction nor whoever waits for it goes on after the caller has left. */
  const unlessLeft = <Value>(promise: Promise<Value>) => Promise.race([promise, left.promise])
  const patient = { ...config, lookupTimeoutMs: LOCK_TIMEOUT_MS }

  async function run(trx: AuthTransaction): Promise<Result> {
    const session = await unlessLeft(
      validateIdentity(identity, { config: patient, sessions: lockingAdapter(trx, columns) }),
    )
    admit?.(session)
    // Else the end of the transaction would wait for a statement that hangs.
    await limitStatements?.(trx, LONGEST_WORK_MS)
    return unlessLeft(withDeadline(work(trx), LONGEST_WORK_MS))
  }

  const { userId } = identity
  const wait = (turn: Promise<void>) => unlessLeft(withDeadline(turn, LOCK_TIMEOUT_MS))
  try {
    return await inUserLine({ db, userId, wait }, () => unlessLeft(db.transaction().execute(run)))
  } catch (cause) {
    const isUnavailable = cause instanceof DeadlineError || isConflict(cause)
    throw isUnavailable ? new AuthError('SESSIONS_UNAVAILABLE', { cause }) : cause
  } finally {
    signal?.removeEventListener('abort', leave)
  }
}

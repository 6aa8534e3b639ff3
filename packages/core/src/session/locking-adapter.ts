import type { AuthAdapter } from '../adapters/adapter.ts'
import type { AuthTransaction } from '../events/change.ts'
import type { Session, SessionKey } from './session.ts'
import { toSession } from './session-row.ts'

/** How long one waits for the locks of a session, in milliseconds. */
export const LOCK_TIMEOUT_MS = 5_000

/**
 * Step 2 inside a transaction that is about to write: locks and reads the user, then the session. A revocation that is committed is seen;
 * one that is not waits until this transaction is over. So what is written is committed before the revocation or not at all.
 */
export function lockingAdapter(trx: AuthTransaction): AuthAdapter {
  return { findSession: (key) => findLocked(trx, key) }
}

async function findLocked(trx: AuthTransaction, { sessionId, userId }: SessionKey): Promise<Session | null> {
  const user = await trx
    .selectFrom('user')
    .select(['name', 'email', 'role', 'banned', 'banReason', 'banExpires'])
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (user === undefined) return null
  const session = await trx
    .selectFrom('session')
    .select(['expiresAt', 'lastAuthenticatedAt'])
    .where('id', '=', sessionId)
    .where('userId', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return session === undefined ? null : toSession({ sessionId, userId }, { ...user, ...session })
}

import type { AuthTransaction } from '../database/auth-transaction.ts'
import { type AddedColumns, type AddedLists, addedLists, NO_COLUMNS } from '../session/added-columns.ts'
import type { SessionKey, StoredSession } from '../session/session.ts'
import { toSession } from '../session/session-row.ts'
import type { SessionReader } from '../session/session-store.ts'

/** How long one waits for the locks of a session, in milliseconds. */
export const LOCK_TIMEOUT_MS = 5_000

/**
 * Step 2 inside a transaction that is about to write: locks and reads the user, then the session. A revocation that is committed is seen;
 * one that is not waits until this transaction is over. So what is written is committed before the revocation or not at all.
 */
export function lockingAdapter(trx: AuthTransaction, columns: AddedColumns = NO_COLUMNS): SessionReader {
  const added = addedLists(columns)
  return { findSession: (key) => findLocked(trx, key, added) }
}

async function findLocked(
  trx: AuthTransaction,
  { sessionId, userId }: SessionKey,
  added: AddedLists | null,
): Promise<StoredSession | null> {
  const further = (table: 'session' | 'user') =>
    (added?.[table] ?? []).map(([name]) => trx.dynamic.ref<never>(name))
  const user = await trx
    .selectFrom('user')
    .select(['name', 'email', 'role', 'banned', 'banExpires', ...further('user')])
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (user === undefined) return null
  const session = await trx
    .selectFrom('session')
    .select(['expiresAt', 'lastAuthenticatedAt', 'version', 'rotatedAt', 'issuer', ...further('session')])
    .where('id', '=', sessionId)
    .where('userId', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (session === undefined) return null
  const { expiresAt, lastAuthenticatedAt, version, rotatedAt, issuer } = session
  const valuesOf = (row: Readonly<Record<string, unknown>>, table: 'session' | 'user') =>
    (added?.[table] ?? []).map(([name]) => row[name])
  const values = [...valuesOf({ ...session }, 'session'), ...valuesOf({ ...user }, 'user')]
  const row = { ...user, expiresAt, lastAuthenticatedAt, version, rotatedAt, issuer }
  return toSession({ sessionId, userId }, row, { added, values })
}

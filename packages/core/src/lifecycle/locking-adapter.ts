import type { AuthTransaction } from '../database/session-database.ts'
import { type AddedColumns, type AddedLists, addedLists, NO_COLUMNS } from '../session/added-columns.ts'
import type { Session, SessionKey, StoredSession } from '../session/session.ts'
import { toSession } from '../session/session-row.ts'
import type { SessionReader } from '../session/session-store.ts'
import { type ProvedSession, validateSession } from '../session/validate-session.ts'

/** How long to wait for the locks of a session. */
export const LOCK_TIMEOUT_MS = 5_000

/**
 * Step 2 inside a transaction that is about to write: locks and reads the user, then the session. It sees a
 * committed revocation, and an uncommitted one waits for the end of this transaction.
 */
export function lockingAdapter(trx: AuthTransaction, columns: AddedColumns = NO_COLUMNS): SessionReader {
  const added = addedLists(columns)
  return { findSession: (key) => findLocked(trx, key, added) }
}

/** Validates a session with a {@link lockingAdapter}. */
export function validateLocked(
  identity: ProvedSession,
  { trx, columns, now }: { trx: AuthTransaction; columns: AddedColumns; now: () => Date },
): Promise<Session> {
  return validateSession(identity, lockingAdapter(trx, columns), { now, lookupTimeoutMs: LOCK_TIMEOUT_MS })
}

async function findLocked(
  trx: AuthTransaction,
  { sessionId, userId }: SessionKey,
  added: AddedLists | null,
): Promise<StoredSession | null> {
  const namesOf = (table: 'session' | 'user') => (added?.[table] ?? []).map(([name]) => name)
  const refsOf = (table: 'session' | 'user') => namesOf(table).map((name) => trx.dynamic.ref<never>(name))
  const user = await trx
    .selectFrom('user')
    .select(['name', 'email', 'role', 'banned', 'banExpires', ...refsOf('user')])
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (user === undefined) return null
  const session = await trx
    .selectFrom('session')
    .select(['expiresAt', 'lastAuthenticatedAt', 'version', 'rotatedAt', 'issuer', ...refsOf('session')])
    .where('id', '=', sessionId)
    .where('userId', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (session === undefined) return null
  const valuesOf = (row: object, table: 'session' | 'user') =>
    namesOf(table).map((name) => Reflect.get(row, name))
  const values = [...valuesOf(session, 'session'), ...valuesOf(user, 'user')]
  const { expiresAt, lastAuthenticatedAt, version, rotatedAt, issuer } = session
  const row = { ...user, expiresAt, lastAuthenticatedAt, version, rotatedAt, issuer }
  return toSession({ sessionId, userId }, row, { added, values })
}

/**
 * Locks users in the order of their ids until the transaction ends, and returns the ids that exist. Every
 * change locks the user's row before a session's row, so two changes never deadlock.
 */
export async function lockUsers(trx: AuthTransaction, userIds: readonly string[]): Promise<string[]> {
  if (userIds.length === 0) return []
  const users = trx.selectFrom('user').select('id').where('id', 'in', userIds).orderBy('id')
  return (await users.forNoKeyUpdate().execute()).map(({ id }) => id)
}

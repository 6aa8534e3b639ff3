import { toDate, toNullableDate } from '../database/schema.ts'
import type { AuthTransaction } from '../events/change.ts'
import type { Session, SessionKey } from './session.ts'
import { type ValidateOptions, validateSession } from './validate-session.ts'

/**
 * Step 2 inside a transaction that is about to write: reads the session and its user again, so that the write is committed before a
 * revocation or not at all.
 *
 * @throws AuthError like `validateSession`
 */
export function lockSession(
  trx: AuthTransaction,
  identity: SessionKey,
  options: ValidateOptions,
): Promise<Session> {
  return validateSession(identity, { findSession: (key) => findLocked(trx, key) }, options)
}

async function findLocked(trx: AuthTransaction, { sessionId, userId }: SessionKey): Promise<Session | null> {
  const row = await trx
    .selectFrom('session')
    .innerJoin('user', 'user.id', 'session.userId')
    .where('session.id', '=', sessionId)
    .where('session.userId', '=', userId)
    .select([
      'session.expiresAt',
      'session.lastAuthenticatedAt',
      'user.name',
      'user.email',
      'user.role',
      'user.banned',
      'user.banReason',
      'user.banExpires',
    ])
    .executeTakeFirst()
  if (row === undefined) return null
  const { expiresAt, lastAuthenticatedAt, banned, banExpires, ...user } = row
  return {
    id: sessionId,
    userId,
    expiresAt: toDate(expiresAt),
    lastAuthenticatedAt:
      typeof lastAuthenticatedAt === 'string' ? lastAuthenticatedAt : lastAuthenticatedAt.toISOString(),
    user: { ...user, id: userId, banned: Boolean(banned), banExpires: toNullableDate(banExpires) },
  }
}

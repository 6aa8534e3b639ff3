import type { SessionCookie } from '../credentials.ts'
import { toDate } from '../database/schema.ts'
import type { AuthTransaction } from '../events/change.ts'
import { createSecret, hashSecret } from './secret.ts'

/** A session whose secret has just changed. */
export interface RotatedSession {
  readonly expiresAt: Date
  readonly remembered: boolean
  /** The new value of the session cookie. */
  readonly cookie: string
}

/** Which session, and the cookie that its browser has. */
export interface Rotation {
  readonly sessionId: string
  readonly sessionCookie: SessionCookie | null
  readonly now: Date
}

/** Notes that the user of a session has proved who they are again, and changes its secret. The id stays. */
export async function confirmSession(
  trx: AuthTransaction,
  rotation: Rotation,
): Promise<RotatedSession | null> {
  const { sessionId, now } = rotation
  await trx
    .updateTable('session')
    .set({ lastAuthenticatedAt: now, updatedAt: now })
    .where('id', '=', sessionId)
    .execute()
  return rotateSecret(trx, { ...rotation, former: 'counts for a moment' })
}

/**
 * Changes the secret of a session.
 *
 * @param rotation.former the secret until now `counts for a moment`, so that requests under way with it do not fail, or `ends` at once,
 * where someone may have a copy of it
 * @returns null where the browser has no cookie of this session: then nothing changes
 */
export async function rotateSecret(
  trx: AuthTransaction,
  { sessionId, sessionCookie, now, former }: Rotation & { former: 'counts for a moment' | 'ends' },
): Promise<RotatedSession | null> {
  if (sessionCookie?.sessionId !== sessionId) return null
  const shown = await hashSecret(sessionCookie.secret)
  const session = await trx
    .selectFrom('session')
    .select(['tokenFamily', 'expiresAt', 'remembered'])
    .where('id', '=', sessionId)
    // Another request has just changed the secret before: its browser has the current one, unless that has to end too.
    .where((where) =>
      where.or([
        where('token', '=', shown),
        ...(former === 'ends' ? [where('previousToken', '=', shown)] : []),
      ]),
    )
    .executeTakeFirst()
  if (session === undefined) return null
  const secret = await createSecret(session.tokenFamily)
  const previousToken = former === 'ends' ? null : shown
  await trx
    .updateTable('session')
    .set({ token: await hashSecret(secret), previousToken, rotatedAt: now })
    .where('id', '=', sessionId)
    .execute()
  return {
    expiresAt: toDate(session.expiresAt),
    remembered: Boolean(session.remembered),
    cookie: `${sessionId}.${secret}`,
  }
}

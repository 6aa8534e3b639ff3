import type { AuthConfig } from '../config.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import { withLookupTimeout } from '../jwt/verify-once.ts'
import { AuthError } from '../protocol/errors.ts'
import type { SessionCookie } from '../request/credentials.ts'
import { isInGrace, renewalOf } from '../session/lifetime.ts'
import { createCredentials, secretStatus } from '../session/secret.ts'
import type { Session, SessionToken } from '../session/session.ts'
import { validateSessionOfSecret } from '../session/validate-session.ts'
import { commit } from './commit.ts'
import type { NewSession } from './create-session.ts'
import { deleteSessions } from './end-session.ts'
import { lockUsers } from './locked-sessions.ts'

/** A session that continues, and the credentials for its browser. */
export interface RefreshedSession extends Omit<NewSession, 'cookie'> {
  readonly renewed: boolean
  /** The new value of the session cookie; null if the browser keeps its own. */
  readonly cookie: string | null
}

/** A session that may continue. */
export interface Refresh {
  readonly session: Session
  /** Extends it when due. Respond to its browser afterwards: the secret may have changed. */
  advance(): Promise<RefreshedSession>
}

/** The precision of `lastSeenAt`: more frequent refreshes don't write. */
const SEEN_MS = 60_000

/**
 * Validates a session by its session cookie, for the token endpoint, where the JWT may have expired. A secret
 * that was rotated out and is used after its grace period was copied: the session ends at once. A superseded
 * secret ends nothing.
 * @throws AuthError `SESSION_NOT_FOUND` for an unknown or rotated-out secret; `SESSION_EXPIRED`,
 * `ACCOUNT_BANNED`, or `SESSIONS_UNAVAILABLE` as in Step 2; `SECRET_SUPERSEDED` if the session is valid and
 * the secret is an earlier one
 */
export async function refreshSession(
  cookie: SessionCookie,
  { database, config }: { database: SessionDatabase; config: AuthConfig },
): Promise<Refresh> {
  const now = config.now()

  async function read(): Promise<CheckedSecret> {
    const { sessionId, secret } = cookie
    const found = await findToken(sessionId, database, config)
    if (found === null) throw new AuthError('SESSION_NOT_FOUND')
    const status = await secretStatus(secret, found, now)
    if (status === 'replayed')
      await commit(database, (trx, record) =>
        deleteSessions(trx, record, { sessionId, cause: 'token-replayed', at: now }),
      )
    if (status === 'replayed' || status === 'unknown') throw new AuthError('SESSION_NOT_FOUND')
    const key = { sessionId, userId: found.userId }
    const session = await validateSessionOfSecret(key, database.sessions, config)
    // Only its issuer's tokens are valid for it, so our JWT would be rejected.
    if (session.issuer !== null) throw new AuthError('SESSION_NOT_FOUND')
    if (status === 'superseded') throw new AuthError('SECRET_SUPERSEDED')
    return { found, status, session }
  }

  const { session } = await read()
  return {
    session,
    async advance() {
      // Time may have passed since the first check.
      const checked = await read()
      if (checked.status === 'previous') return unchanged(checked)
      const advanced = await advance(cookie, checked.found, { database, config, now })
      // If overtaken, another request has just rotated the secret, replaced it, or ended the session.
      return advanced === 'overtaken' ? unchanged(await read()) : (advanced ?? unchanged(checked))
    },
  }
}

interface CheckedSecret {
  readonly found: SessionToken
  readonly status: 'current' | 'previous'
  readonly session: Session
}

function unchanged({ found, status, session: { id, userId, expiresAt } }: CheckedSecret): RefreshedSession {
  // A JWT for the previous secret carries the previous version, and ends with it.
  const version = status === 'previous' ? found.version - 1 : found.version
  return { id, userId, expiresAt, version, remembered: found.remembered, renewed: false, cookie: null }
}

/** Extends, marks as seen, and rotates, each when due. Returns null if nothing is due. */
async function advance(
  cookie: SessionCookie,
  found: SessionToken,
  { database, config, now }: { database: SessionDatabase; config: AuthConfig; now: Date },
): Promise<RefreshedSession | 'overtaken' | null> {
  const renewal = renewalOf(found, config.lifetimes, now)
  const isSeenAgain = now.getTime() - found.lastSeenAt.getTime() >= SEEN_MS
  // Not again within the grace period, or the secret before it would be taken for replayed too early.
  const isRotationDue = config.rotateSessionToken && !isInGrace(found.rotatedAt, now)
  if (renewal === null && !isSeenAgain && !isRotationDue) return null

  const version = isRotationDue ? found.version + 1 : found.version
  const rotated = isRotationDue ? await createCredentials(version, found.tokenFamily ?? undefined) : null
  const { sessionId } = cookie
  const { userId, remembered, provedVersion } = found
  const previous = { provedVersion, previousToken: found.token, rotatedAt: now }
  const isDone = await commit(database, async (trx, record) => {
    // The hooks of the event may lock the user.
    if (renewal !== null) await lockUsers(trx, [userId])
    const { numUpdatedRows } = await trx
      .updateTable('session')
      .set({
        ...(renewal && { expiresAt: renewal }),
        ...(rotated && { ...rotated.columns, ...previous }),
        lastSeenAt: now,
        updatedAt: now,
      })
      .where('id', '=', sessionId)
      .where('token', '=', found.token)
      .where('expiresAt', '>', now)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    if (renewal !== null) record({ type: 'session.refreshed', at: now, userId, sessionId, renewed: true })
    return true
  })
  if (!isDone) return 'overtaken'
  // Streams and sockets of the previous version end with its grace period.
  if (rotated !== null) database.revocations.publish({ sessionId, userId })
  const expiresAt = renewal ?? found.expiresAt
  const renewed = renewal !== null
  const { secret } = rotated ?? cookie
  const newCookie = renewed || rotated !== null ? `${sessionId}.${secret}` : null
  return { id: sessionId, userId, expiresAt, version, remembered, renewed, cookie: newCookie }
}

/** @throws AuthError `SESSIONS_UNAVAILABLE` if the lookup fails or times out */
export function findToken(
  sessionId: string,
  { sessions }: SessionDatabase,
  config: AuthConfig,
): Promise<SessionToken | null> {
  return withLookupTimeout(() => sessions.findToken(sessionId), config)
}

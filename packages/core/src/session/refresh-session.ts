import type { SessionToken } from '../adapters/adapter.ts'
import type { AuthConfig } from '../config.ts'
import type { SessionCookie } from '../credentials.ts'
import { AuthError, isAuthError } from '../errors.ts'
import { commit } from '../events/commit.ts'
import { withDeadline } from './deadline.ts'
import { deleteSessions } from './end-session.ts'
import { isInGrace, renewalOf } from './lifetime.ts'
import { createFamily, createSecret, hashSecret, isOfFamily } from './secret.ts'
import type { Session } from './session.ts'
import type { SessionDatabase } from './session-database.ts'
import { validateSession } from './validate-session.ts'

/** A session that goes on, and what its browser has to be given. */
export interface RefreshedSession extends Pick<Session, 'id' | 'userId' | 'expiresAt'> {
  readonly remembered: boolean
  readonly renewed: boolean
  /** The new value of the session cookie; null where the browser keeps what it has. */
  readonly cookie: string | null
}

/** A session that may go on. */
export interface Refresh {
  readonly session: Session
  /** Extends it where it is time to. Afterwards its browser must be answered: the secret may have changed. */
  advance(): Promise<RefreshedSession>
}

/** `lastSeenAt` is kept to this many seconds, so that a page that refreshes again and again does not write each time. */
const SEEN_SECONDS = 60

/**
 * The session that a session cookie stands for, if it still counts. For the token endpoint, where the JWT may be gone.
 *
 * A secret that was rotated out longer ago than its grace is a copy in the hands of someone else, or of the user while
 * someone else has the current one: the session ends at once.
 *
 * @throws AuthError like `validateSession`; an unknown cookie is `SESSION_NOT_FOUND`
 */
export async function refreshSession(
  cookie: SessionCookie | null,
  { database, config }: { database: SessionDatabase; config: AuthConfig },
): Promise<Refresh> {
  if (cookie === null) throw new AuthError('SESSION_NOT_FOUND')
  const now = config.now()
  const found = await findToken(cookie.sessionId, database, config)
  const standing = found === null ? 'unknown' : await standingOf(cookie.secret, found, now)
  if (standing === 'replayed') await endReplayed(cookie.sessionId, database, now)
  if (found === null || standing === 'unknown' || standing === 'replayed')
    throw new AuthError('SESSION_NOT_FOUND')
  const identity = { sessionId: cookie.sessionId, userId: found.userId }
  const validate = () => validateSession(identity, database.sessions, config)
  const unchanged = ({ id, userId, expiresAt }: Session): RefreshedSession => ({
    id,
    userId,
    expiresAt,
    remembered: found.remembered,
    renewed: false,
    cookie: null,
  })

  const session = await validate()
  return {
    session,
    async advance() {
      // What was done since then may have taken its time.
      const current = await validate()
      if (standing === 'previous') return unchanged(current)
      const advanced = await advance(cookie, found, { database, config, now })
      if (advanced === 'nothing to do') return unchanged(current)
      // Overtaken: another request has just rotated the secret, or ended the session.
      return advanced === 'overtaken' ? unchanged(await validate()) : advanced
    },
  }
}

type Standing = 'current' | 'previous' | 'replayed' | 'unknown'

/** Hashes are compared, so the time this takes says nothing about the secret. */
async function standingOf(secret: string, found: SessionToken, now: Date): Promise<Standing> {
  const hash = await hashSecret(secret)
  if (hash === found.token) return 'current'
  if (hash === found.previousToken && isInGrace(found.rotatedAt, now)) return 'previous'
  if (found.tokenFamily === null) return 'unknown'
  return (await isOfFamily(secret, found.tokenFamily)) ? 'replayed' : 'unknown'
}

/**
 * Extends, marks as seen and rotates, as far as each is due: one update that touches the row only while its secret is still the one
 * that was shown.
 */
async function advance(
  cookie: SessionCookie,
  found: SessionToken,
  { database, config, now }: { database: SessionDatabase; config: AuthConfig; now: Date },
): Promise<RefreshedSession | 'nothing to do' | 'overtaken'> {
  const renewal = renewalOf(found, config.lifetimes, now)
  const isSeenAgain = now.getTime() - found.lastSeenAt.getTime() >= SEEN_SECONDS * 1000
  // Not again within the grace of the last time, or the secret before it would count as replayed too early.
  const isRotationDue = config.rotateSessionToken && !isInGrace(found.rotatedAt, now)
  const family = isRotationDue ? (found.tokenFamily ?? createFamily()) : null
  if (renewal === null && !isSeenAgain && family === null) return 'nothing to do'

  const expiresAt = renewal ?? found.expiresAt
  const secret = family === null ? cookie.secret : await createSecret(family)
  const token = await hashSecret(secret)
  const { sessionId } = cookie
  const isDone = await commit(database, async (trx, record) => {
    const { numUpdatedRows } = await trx
      .updateTable('session')
      .set({
        ...(renewal !== null && { expiresAt: renewal }),
        lastSeenAt: now,
        updatedAt: now,
        ...(family !== null && { token, previousToken: found.token, rotatedAt: now, tokenFamily: family }),
      })
      .where('id', '=', sessionId)
      .where('token', '=', found.token)
      .where('expiresAt', '>', now)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    if (renewal !== null)
      record({ type: 'session.refreshed', at: now, userId: found.userId, sessionId, renewed: true })
    return true
  })
  if (!isDone) return 'overtaken'
  const isCookieNew = renewal !== null || family !== null
  return {
    id: sessionId,
    userId: found.userId,
    expiresAt,
    remembered: found.remembered,
    renewed: renewal !== null,
    cookie: isCookieNew ? `${sessionId}.${secret}` : null,
  }
}

function endReplayed(sessionId: string, database: SessionDatabase, at: Date): Promise<number> {
  return commit(database, (trx, record) =>
    deleteSessions(trx, record, { sessionId, cause: 'token-replayed', actorId: null, at }),
  )
}

async function findToken(
  sessionId: string,
  { sessions }: SessionDatabase,
  { lookupTimeoutMs }: AuthConfig,
): Promise<SessionToken | null> {
  try {
    return await withDeadline(sessions.findToken(sessionId), lookupTimeoutMs)
  } catch (cause) {
    throw isAuthError(cause) ? cause : new AuthError('SESSIONS_UNAVAILABLE', { cause })
  }
}

import type { SessionStore } from '../adapters/adapter.ts'
import type { SessionCookie } from '../credentials.ts'
import type { AuthKysely } from '../database/schema.ts'
import { AuthError, isAuthError } from '../errors.ts'
import type { RevocationFeed } from '../revocations/feed.ts'
import { LOOKUP_TIMEOUT_MS, withDeadline } from './deadline.ts'
import { createSecret, hashSecret } from './secret.ts'
import type { Session } from './session.ts'
import { type ValidateOptions, validateSession } from './validate-session.ts'

/** A database that sessions can begin and end in: what `openSqlite` returns. */
export interface SessionDatabase {
  readonly db: AuthKysely
  readonly sessions: SessionStore
  readonly revocations: RevocationFeed
}

/** A session that has just begun. The only moment its secret is known. */
export interface NewSession {
  readonly id: string
  readonly userId: string
  readonly expiresAt: Date
  /** Value of the session cookie: `<sessionId>.<secret>`. */
  readonly cookie: string
}

/** Begins a session for a user who has just proved who they are. */
export async function createSession(
  { db }: Pick<SessionDatabase, 'db'>,
  options: { userId: string; userAgent: string | null; lifetimeSeconds: number; now: Date },
): Promise<NewSession> {
  const { userId, now } = options
  const id = crypto.randomUUID()
  const secret = createSecret()
  const expiresAt = new Date(now.getTime() + options.lifetimeSeconds * 1000)
  await db
    .insertInto('session')
    .values({
      id,
      token: await hashSecret(secret),
      userId,
      ipAddress: null,
      userAgent: options.userAgent?.slice(0, 512) ?? null,
      expiresAt,
      lastAuthenticatedAt: now,
      lastSeenAt: now,
      createdAt: now,
      updatedAt: now,
    })
    .execute()
  return { id, userId, expiresAt, cookie: `${id}.${secret}` }
}

/**
 * The session that a session cookie stands for, if it still counts. For the token endpoint, where the JWT may be gone.
 *
 * @throws AuthError like {@link validateSession}; an unknown cookie is `SESSION_NOT_FOUND`
 */
export async function validateSessionCookie(
  cookie: SessionCookie | null,
  { sessions }: Pick<SessionDatabase, 'sessions'>,
  options: ValidateOptions,
): Promise<Session> {
  if (cookie === null) throw new AuthError('SESSION_NOT_FOUND')
  const found = await findToken(cookie.sessionId, sessions, options)
  // Hashes are compared, so the time this takes says nothing about the secret.
  if (found === null || found.token !== (await hashSecret(cookie.secret)))
    throw new AuthError('SESSION_NOT_FOUND')
  return validateSession({ sessionId: cookie.sessionId, userId: found.userId }, sessions, options)
}

async function findToken(
  sessionId: string,
  sessions: SessionStore,
  { lookupTimeoutMs = LOOKUP_TIMEOUT_MS }: ValidateOptions,
): Promise<{ userId: string; token: string } | null> {
  try {
    return await withDeadline(sessions.findToken(sessionId), lookupTimeoutMs)
  } catch (cause) {
    throw isAuthError(cause) ? cause : new AuthError('SESSIONS_UNAVAILABLE', { cause })
  }
}

/** Ends the session of a session cookie: a sign-out. False when there was none. */
export async function signOutSession(cookie: SessionCookie, database: SessionDatabase): Promise<boolean> {
  const deleted = await database.db
    .deleteFrom('session')
    .where('id', '=', cookie.sessionId)
    .where('token', '=', await hashSecret(cookie.secret))
    .returning(['id', 'userId'])
    .executeTakeFirst()
  return announce(deleted, database)
}

/** Ends another's session by its id. False when there was none. */
export async function revokeSession(sessionId: string, database: SessionDatabase): Promise<boolean> {
  const deleted = await database.db
    .deleteFrom('session')
    .where('id', '=', sessionId)
    .returning(['id', 'userId'])
    .executeTakeFirst()
  return announce(deleted, database)
}

/** Only after the commit, and before the caller is told: whoever hears of a revocation finds it done everywhere here. */
function announce(
  deleted: { id: string; userId: string } | undefined,
  { revocations }: SessionDatabase,
): boolean {
  if (deleted === undefined) return false
  revocations.publish({ sessionId: deleted.id, userId: deleted.userId })
  return true
}

/** Bans a user. Their sessions stay in place, so that the next call answers 403 "Account banned" (spec section 3). */
export async function banUser(
  userId: string,
  { db, revocations }: SessionDatabase,
  options: { now: Date; reason?: string; expires?: Date },
): Promise<void> {
  await db
    .updateTable('user')
    .set({
      banned: true,
      banReason: options.reason ?? null,
      banExpires: options.expires ?? null,
      updatedAt: options.now,
    })
    .where('id', '=', userId)
    .execute()
  revocations.publish({ sessionId: null, userId })
}

import type { StoreMeter } from '../events/telemetry.ts'

/** The user of a session, as the database has it now. */
export interface SessionUser {
  readonly id: string
  readonly name: string
  readonly email: string
  /** `user`, `admin`, or a role of the app. Always from the row, never from the JWT. */
  readonly role: string
}

/** A session record with its user (`docs/sessions.md`), without its secret. */
export interface Session {
  readonly id: string
  readonly userId: string
  readonly expiresAt: Date
  /** When the user last signed in or re-authenticated: ISO 8601 in UTC. A `Date` would slow every call. */
  readonly lastAuthenticatedAt: string
  /** Increases when the user re-authenticates, to reject older tokens. Null without such a column. */
  readonly version: number | null
  /** When a refresh last rotated the secret, as ISO 8601; null if the version has another origin. */
  readonly rotatedAt: string | null
  /** The issuer that owns the session and whose tokens are valid for it; null for our own sessions. */
  readonly issuer: string | null
  /**
   * The methods by which the user proved who they are (RFC 8176), each with the time of the last proof in
   * seconds, as JSON: `{"pwd":1764288000,"otp":1764288060}`. Null if unknown.
   */
  readonly amr: string | null
  /** The authentication context class that an OpenID provider reported; otherwise null. */
  readonly acr: string | null
  readonly user: SessionUser
}

/** A session as stored. Step 2 sets `ban` to null, so a resolver that returns it never shows a ban. */
export interface StoredSession extends Session {
  /** The ban of the user, even if it has ended. `until: null` is a ban without an end. */
  readonly ban: { readonly until: Date | null } | null
}

/** A session id with the id of its user; both must match. */
export interface SessionKey {
  readonly sessionId: string
  readonly userId: string
}

/** Reads session records for Step 2, from the database or over HTTP. */
export interface SessionReader {
  /** Returns the current session with this id **and** this user, or null. Doesn't validate. */
  findSession(key: SessionKey): StoredSession | null | Promise<StoredSession | null>
  /** @internal Where our stores record their measurements. */
  readonly meter?: StoreMeter | undefined
}

/** Session records of a process with a database, which can check session cookies too. */
export interface SessionStore extends SessionReader {
  /** Returns what the endpoints need to check a session cookie, or null. Never used for Step 2. */
  findToken(sessionId: string): Promise<SessionToken | null>
}

/** The columns of a session that decide about its cookie. */
export interface SessionToken {
  readonly userId: string
  /** `sha256:<hex>` of the secret. */
  readonly token: string
  readonly previousToken: string | null
  readonly rotatedAt: Date | null
  readonly tokenFamily: string | null
  readonly version: number
  readonly provedVersion: number
  readonly expiresAt: Date
  readonly createdAt: Date
  readonly lastSeenAt: Date
  readonly remembered: boolean
}

/** Returns whether a user is banned now. A ban ends at `banExpires`; an unreadable date never ends it. */
export function isBanned(user: { banned: boolean; banExpires: Date | null }, now: Date): boolean {
  return user.banned && (user.banExpires === null || !(user.banExpires <= now))
}

/**
 * Returns whether the user proved who they are within `maxAgeSeconds`. False for an unreadable date, and for
 * an impersonated session: an admin started it, not its user.
 */
export function isFresh(
  session: ProvedUser,
  { maxAgeSeconds, now }: { maxAgeSeconds: number; now: Date },
): boolean {
  if (isImpersonated(session)) return false
  return now.getTime() - new Date(session.lastAuthenticatedAt).getTime() <= maxAgeSeconds * 1000
}

/** The columns of a session that say who proved to be its user, and when. */
interface ProvedUser extends Pick<Session, 'lastAuthenticatedAt'> {
  /** The admin who acts as the user, if a library has such sessions. */
  readonly impersonatedBy?: string | null
}

/** Returns whether an admin acts as the user of a session. */
export function isImpersonated({ impersonatedBy }: ProvedUser): boolean {
  return impersonatedBy !== undefined && impersonatedBy !== null
}

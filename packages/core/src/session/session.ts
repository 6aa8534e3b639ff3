/** The user of a session, as the database has it now. */
export interface SessionUser {
  readonly id: string
  readonly name: string
  readonly email: string
  /** `user` or `admin`, or a role of the app's own. Always the row's, never the JWT's. */
  readonly role: string
}

/** A session record with its user (spec section 2). Its secret is not among the fields. */
export interface Session {
  readonly id: string
  readonly userId: string
  readonly expiresAt: Date
  /**
   * When the user last proved who they are: at sign-in or by `reauthenticate`. ISO 8601 in UTC, as most calls never look at it and a
   * `Date` would cost each of them; see {@link isFresh}.
   */
  readonly lastAuthenticatedAt: string
  /**
   * The version of the session's credentials. It increases when the user proves who they are again, and Step
   * 2 rejects tokens of an earlier one. Null in mapped tables without such a column.
   */
  readonly version: number | null
  /**
   * When the secret was last rotated by a refresh, as ISO 8601; null if the current version was made in
   * another way.
   */
  readonly rotatedAt: string | null
  /** The issuer that owns the session, and whose tokens are valid for it; null if we do. */
  readonly issuer: string | null
  readonly user: SessionUser
}

/**
 * A session as the store has it. Step 2 needs the ban to decide. A session that passed Step 2 has `ban:
 * null`, so a resolver that returns `ctx.session` or `ctx.user` never shows a ban to the user.
 */
export interface StoredSession extends Session {
  /** The ban of the user, also one that has ended. `until: null` is a ban without an end. */
  readonly ban: { readonly until: Date | null } | null
}

/** What names one session of one user; both must match. */
export interface SessionKey {
  readonly sessionId: string
  readonly userId: string
}

/** Whether a ban counts now. One whose `banExpires` has passed does not (design decision 6). */
export function isBanned(user: { banned: boolean; banExpires: Date | null }, now: Date): boolean {
  return user.banned && (user.banExpires === null || !(user.banExpires <= now))
}

/** Whether the user proved who they are no longer ago than `maxAgeSeconds`. An unreadable moment is long ago. */
export function isFresh(
  session: Pick<Session, 'lastAuthenticatedAt'>,
  { maxAgeSeconds, now }: { maxAgeSeconds: number; now: Date },
): boolean {
  return now.getTime() - new Date(session.lastAuthenticatedAt).getTime() <= maxAgeSeconds * 1000
}

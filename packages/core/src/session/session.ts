/** The user of a session, as the database has it now. */
export interface SessionUser {
  readonly id: string
  readonly name: string
  readonly email: string
  /** `user` or `admin`, or a role of the app's own. Always the row's, never the JWT's. */
  readonly role: string
  readonly banned: boolean
  readonly banReason: string | null
  /** When the ban ends; null is never. */
  readonly banExpires: Date | null
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
  readonly user: SessionUser
}

/** What names one session of one user; both must match. */
export interface SessionKey {
  readonly sessionId: string
  readonly userId: string
}

/** Whether a ban counts now. One whose `banExpires` has passed does not (design decision 6). */
export function isBanned(user: Pick<SessionUser, 'banned' | 'banExpires'>, now: Date): boolean {
  return user.banned && (user.banExpires === null || !(user.banExpires <= now))
}

/** Whether the user proved who they are no longer ago than `maxAgeSeconds`. An unreadable moment is long ago. */
export function isFresh(
  session: Pick<Session, 'lastAuthenticatedAt'>,
  { maxAgeSeconds, now }: { maxAgeSeconds: number; now: Date },
): boolean {
  return now.getTime() - new Date(session.lastAuthenticatedAt).getTime() <= maxAgeSeconds * 1000
}

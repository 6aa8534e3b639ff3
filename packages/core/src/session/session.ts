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

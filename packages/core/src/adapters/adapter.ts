import type { Session, SessionKey } from '../session/session.ts'

/** How Step 2 reaches the session record: directly in the database, or over HTTP where there is none. */
export interface AuthAdapter {
  /**
   * The session of this id **and** user with its user row, as the primary has it now; null when there is none. Reads only;
   * whether the session still counts is decided by `validateSession`.
   */
  findSession(key: SessionKey): Session | null | Promise<Session | null>
}

/** The adapter of a process that has the database, where session cookies can be checked too. */
export interface SessionStore extends AuthAdapter {
  /** The owner and the `token` column of a session; null when there is none. For the endpoints, never for Step 2. */
  findToken(sessionId: string): Promise<{ userId: string; token: string } | null>
}

import type { SessionKey, StoredSession } from './session.ts'

/** How Step 2 reaches the session record: directly in the database, or over HTTP where there is none. */
export interface SessionReader {
  /**
   * The session of this id **and** user with its user row, as the primary has it now; null when there is none. Reads only;
   * whether the session still counts is decided by `validateSession`.
   */
  findSession(key: SessionKey): StoredSession | null | Promise<StoredSession | null>
}

/** The adapter of a process that has the database, where session cookies can be checked too. */
export interface SessionStore extends SessionReader {
  /** What the endpoints need of a session to judge a session cookie; null when there is none. Never for Step 2. */
  findToken(sessionId: string): Promise<SessionToken | null>
}

/** The parts of a session record that decide about its cookie. */
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

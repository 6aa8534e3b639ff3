import type { SessionKey, StoredSession } from './session.ts'

/** Reads session records for Step 2, from the database or over HTTP. */
export interface SessionReader {
  /** Returns the session with this id **and** this user, as the primary has it now, or null. Doesn't validate. */
  findSession(key: SessionKey): StoredSession | null | Promise<StoredSession | null>
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

/** Something that may end sessions: one session was revoked, or something about its user has changed. */
export interface Revocation {
  /** The session concerned; null concerns every session of the user. */
  readonly sessionId: string | null
  readonly userId: string
}

/** Tells this process about revocations, so that live streams need not ask. */
export interface RevocationFeed {
  /** Grows with every revocation, before any listener is called: what was read at another revision may be out of date. */
  readonly revision: number
  /** Calls the listener on every revocation that concerns this session, until the returned function is called. */
  subscribe(key: { sessionId: string; userId: string }, listener: () => void): () => void
  publish(revocation: Revocation): void
}

/** A change that may end sessions. */
export interface Revocation {
  /** Null concerns every session of the user. */
  readonly sessionId: string | null
  /** Null, together with `sessionId`, concerns everyone. */
  readonly userId: string | null
}

/** Notifies this process of revocations, so live streams need not poll. */
export interface RevocationFeed {
  /** Grows with every revocation, before listeners run. A read at another revision may be outdated. */
  readonly revision: number
  /**
   * Calls the listener on every revocation that concerns this session, until the returned function is called.
   * A feed that was idle, and may have missed one, calls it once soon after.
   */
  subscribe(key: { sessionId: string; userId: string }, listener: () => void): () => void
  /** Calls the listeners it concerns. A feed between processes also notifies the others. */
  publish(revocation: Revocation): void
}

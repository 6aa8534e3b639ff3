/** Something that may end sessions: one session was revoked, something about a user has changed, or nobody can say what did. */
export interface Revocation {
  /** The session concerned; null concerns every session of the user. */
  readonly sessionId: string | null
  /** Null, together with `sessionId`, concerns everyone. */
  readonly userId: string | null
}

/** Tells this process about revocations, so that live streams need not ask. */
export interface RevocationFeed {
  /** Grows with every revocation, before any listener is called: what was read at another revision may be out of date. */
  readonly revision: number
  /**
   * Calls the listener on every revocation that concerns this session, until the returned function is called. Where the feed has been
   * idle and cannot know what happened since, it calls it once soon after, to be on the safe side.
   */
  subscribe(key: { sessionId: string; userId: string }, listener: () => void): () => void
  /** Calls the listeners whom it concerns. A feed between processes tells the others too. */
  publish(revocation: Revocation): void
}

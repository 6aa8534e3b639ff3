import type { FailureSource } from '../events/failure-source.ts'

/** A change that may end sessions. */
export interface Revocation {
  /** Null concerns every session of the user. */
  readonly sessionId: string | null
  /** Null, together with `sessionId`, concerns every user. */
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
  /** The failures of a feed between processes. */
  readonly failures?: FailureSource
}

/** An object, because a listener may subscribe twice. */
type Subscriber = { readonly listener: () => void }

/** Creates a feed inside one process: listeners run before `publish` returns. */
export function memoryFeed(): RevocationFeed {
  /**
   * By user, and then by session, because a user may have thousands of sessions that end together. Most
   * sessions have one subscriber, for which an array takes less memory than a set.
   */
  const users = new Map<string, Map<string, readonly Subscriber[]>>()
  let revision = 0

  function subscribersOf({ sessionId, userId }: Revocation): readonly Subscriber[] {
    if (userId === null) return [...users.values()].flatMap(all)
    const sessions = users.get(userId)
    if (sessions === undefined) return []
    return sessionId === null ? all(sessions) : (sessions.get(sessionId) ?? [])
  }

  return {
    get revision() {
      return revision
    },
    subscribe({ sessionId, userId }, listener) {
      const subscriber = { listener }
      const sessions = users.get(userId) ?? new Map<string, readonly Subscriber[]>()
      const others = sessions.get(sessionId)
      users.set(
        userId,
        sessions.set(sessionId, others === undefined ? [subscriber] : [...others, subscriber]),
      )
      return () => {
        const left = sessions.get(sessionId)?.filter((other) => other !== subscriber) ?? []
        if (left.length > 0) sessions.set(sessionId, left)
        else sessions.delete(sessionId)
        if (sessions.size === 0 && users.get(userId) === sessions) users.delete(userId)
      }
    },
    publish(revocation) {
      revision++
      for (const { listener } of subscribersOf(revocation)) listener()
    },
  }
}

function all(sessions: ReadonlyMap<string, readonly Subscriber[]>): Subscriber[] {
  return [...sessions.values()].flat()
}

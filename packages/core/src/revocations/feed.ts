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

type Subscriber = { readonly sessionId: string; readonly listener: () => void }

/** Creates a feed inside one process: listeners run before `publish` returns. */
export function memoryFeed(): RevocationFeed {
  const subscribersByUser = new Map<string, Set<Subscriber>>()
  let revision = 0

  function subscribersOf({ sessionId, userId }: Revocation): Subscriber[] {
    if (userId === null) return [...subscribersByUser.values()].flatMap((subscribers) => [...subscribers])
    const subscribers = [...(subscribersByUser.get(userId) ?? [])]
    return subscribers.filter((subscriber) => sessionId === null || sessionId === subscriber.sessionId)
  }

  return {
    get revision() {
      return revision
    },
    subscribe({ sessionId, userId }, listener) {
      const subscriber = { sessionId, listener }
      const subscribers = subscribersByUser.get(userId) ?? new Set()
      subscribersByUser.set(userId, subscribers.add(subscriber))
      return () => {
        subscribers.delete(subscriber)
        if (subscribers.size === 0 && subscribersByUser.get(userId) === subscribers)
          subscribersByUser.delete(userId)
      }
    },
    publish(revocation) {
      revision++
      for (const { listener } of subscribersOf(revocation)) listener()
    },
  }
}

import type { Revocation, RevocationFeed } from './feed.ts'

type Subscriber = { readonly sessionId: string; readonly listener: () => void }

/** Creates a feed inside one process: listeners run before `publish` returns. */
export function memoryFeed(): RevocationFeed {
  const subscribersByUser = new Map<string, Set<Subscriber>>()
  let revision = 0

  function concerned({ sessionId, userId }: Revocation): Subscriber[] {
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
      for (const { listener } of concerned(revocation)) listener()
    },
  }
}

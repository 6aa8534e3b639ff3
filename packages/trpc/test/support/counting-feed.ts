import type { RevocationFeed } from '@sallyport/core'

/** A revocation feed that counts its listeners. */
export interface CountingFeed extends RevocationFeed {
  /** The number of current listeners. */
  readonly listeners: number
  /** Calls of `subscribe` so far. */
  readonly subscriptions: number
}

export function countingFeed(feed: RevocationFeed): CountingFeed {
  const listening = new Set<symbol>()
  let subscriptions = 0
  return {
    get revision() {
      return feed.revision
    },
    get listeners() {
      return listening.size
    },
    get subscriptions() {
      return subscriptions
    },
    publish: (revocation) => feed.publish(revocation),
    subscribe(key, listener) {
      const id = Symbol()
      listening.add(id)
      subscriptions++
      const unsubscribe = feed.subscribe(key, listener)
      return () => {
        listening.delete(id)
        unsubscribe()
      }
    },
  }
}

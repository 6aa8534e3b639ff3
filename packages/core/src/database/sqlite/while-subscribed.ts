import type { RevocationFeed } from '../../revocations/feed.ts'
import type { OpenFeed } from './driver.ts'

/** Calls `start` for every new subscriber of a feed, and `stop` when the last one has left. */
export function whileSubscribed(
  feed: RevocationFeed,
  { start, stop }: { start: () => void; stop: () => void },
): OpenFeed {
  const { subscribe } = feed
  let subscribers = 0
  return Object.assign(feed, {
    subscribe(...subscription: Parameters<typeof subscribe>) {
      const unsubscribe = subscribe(...subscription)
      subscribers++
      start()
      let isSubscribed = true
      return () => {
        if (!isSubscribed) return
        isSubscribed = false
        unsubscribe()
        subscribers--
        if (subscribers === 0) stop()
      }
    },
    close: stop,
  })
}

import type { RevocationFeed } from '@sallyport/core'

const endsByFeed = new WeakMap<RevocationFeed, Set<() => void>>()
const stopped = new WeakSet<RevocationFeed>()

/** Calls `end` when the server of a database stops. Returns a function that prevents it. */
export function endWithServer(feed: RevocationFeed, end: () => void): () => void {
  const ends = endsByFeed.get(feed) ?? new Set()
  endsByFeed.set(feed, ends.add(end))
  if (stopped.has(feed)) queueMicrotask(() => ends.has(end) && end())
  return () => ends.delete(end)
}

/** Ends the streams of a database, and those that begin later. */
export function endStreams(feed: RevocationFeed): void {
  stopped.add(feed)
  for (const end of [...(endsByFeed.get(feed) ?? [])]) end()
}

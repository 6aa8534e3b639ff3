import type { RevocationFeed } from '@sallyport/core'

/** What happens to the streams of a database when its server stops. */
interface Stopping {
  readonly ends: Set<() => void>
  isStopped: boolean
}

const KEY = Symbol.for('sallyport.stopping')

const holder: { [key: symbol]: unknown } = globalThis

/** On `globalThis`, because bundlers evaluate this module more than once. */
function stoppingOf(feed: RevocationFeed): Stopping {
  holder[KEY] ??= new WeakMap<RevocationFeed, Stopping>()
  const stoppings = holder[KEY] as WeakMap<RevocationFeed, Stopping>
  const stopping = stoppings.get(feed) ?? { ends: new Set(), isStopped: false }
  stoppings.set(feed, stopping)
  return stopping
}

/** Calls `end` when the server of a database stops. Returns a function that prevents it. */
export function endWithServer(feed: RevocationFeed, end: () => void): () => void {
  const { ends, isStopped } = stoppingOf(feed)
  ends.add(end)
  if (isStopped) queueMicrotask(() => ends.has(end) && end())
  return () => ends.delete(end)
}

/** Ends the streams of a database, and those that begin later. */
export function endStreams(feed: RevocationFeed): void {
  const stopping = stoppingOf(feed)
  stopping.isStopped = true
  for (const end of [...stopping.ends]) end()
}

/** Returns whether {@link endStreams} was called. */
export function isStopped(feed: RevocationFeed): boolean {
  return stoppingOf(feed).isStopped
}

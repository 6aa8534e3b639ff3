import type { Database } from 'better-sqlite3'
import { memoryFeed, type Revocation, type RevocationFeed } from '../../revocations/feed.ts'

const POLL_MS = 100

/** How many entries are read in one turn of the event loop. */
const PAGE_SIZE = 500

const EVERYONE: Revocation = { sessionId: null, userId: null }

/**
 * Creates a feed for all processes that share a file. Publishes changes of this process at once. While there
 * are subscribers, polls `data_version`, which changes when another connection writes, then reads the log. A
 * failed read is retried at the next poll.
 * @param reader a connection that never writes: `data_version` doesn't reflect its own writes
 */
export function sqliteFeed(reader: Database): RevocationFeed & { close(): void } {
  const local = memoryFeed()
  const newest = reader.prepare<[], number>('select coalesce(max(seq), 0) from revocation_log').pluck()
  const entriesAfter = reader.prepare<[number, number], Revocation & { seq: number }>(
    'select seq, sessionId, userId from revocation_log where seq > ? order by seq limit ?',
  )
  let subscribers = 0
  let timer: NodeJS.Timeout | undefined
  let version: unknown
  /** The next page is read in the next turn. */
  let hasNextPage = false
  /** Null until the first read since polling started. */
  let lastSeq: number | null = null

  function start(): void {
    lastSeq = null
    timer = setInterval(poll, POLL_MS).unref()
    setImmediate(poll)
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function poll(): void {
    if (timer === undefined || hasNextPage) return
    for (const revocation of readLog()) local.publish(revocation)
  }

  function readNextPage(): void {
    hasNextPage = false
    poll()
  }

  function readLog(): readonly Revocation[] {
    try {
      const current = reader.pragma('data_version', { simple: true })
      if (lastSeq === null) {
        lastSeq = newest.get() ?? 0
        version = current
        // Nothing was read since the last subscriber left, so every subscriber must check its session.
        return [EVERYONE]
      }
      if (current === version) return []
      const entries = entriesAfter.all(lastSeq, PAGE_SIZE)
      lastSeq = entries.at(-1)?.seq ?? lastSeq
      hasNextPage = entries.length === PAGE_SIZE
      if (hasNextPage) setImmediate(readNextPage)
      else version = current
      return entries
    } catch {
      if (!reader.open) stop()
      return []
    }
  }

  const { subscribe } = local
  return Object.assign(local, {
    subscribe(...subscription: Parameters<typeof subscribe>) {
      const unsubscribe = subscribe(...subscription)
      subscribers++
      if (timer === undefined) start()
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

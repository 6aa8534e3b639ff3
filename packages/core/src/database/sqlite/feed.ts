import type { Database } from 'better-sqlite3'
import type { Revocation, RevocationFeed } from '../../revocations/feed.ts'
import { memoryFeed } from '../../revocations/memory-feed.ts'

/** How often another process's writes are looked for, in milliseconds. */
const POLL_MS = 100

/** Entries that are read in one turn of the event loop. */
const ENTRIES_AT_ONCE = 500

interface Entry {
  readonly seq: number
  readonly sessionId: string | null
  readonly userId: string | null
}

const EVERYONE: Revocation = { sessionId: null, userId: null }

/** A feed for all processes that share a file. */
export interface SqliteFeed extends RevocationFeed {
  close(): void
}

/**
 * Changes of this process are told at once. While anyone listens, `data_version` says every 100 ms whether another connection has written,
 * and the log what. What cannot be read is tried again the next time; the lease of the streams bounds what that can cost.
 *
 * @param reader a connection that never writes: `data_version` is blind to the writes of its own
 */
export function sqliteFeed(reader: Database): SqliteFeed {
  const local = memoryFeed()
  const newest = reader.prepare<[], number>('select coalesce(max(seq), 0) from revocation_log').pluck()
  const entriesAfter = reader.prepare<[number, number], Entry>(
    'select seq, sessionId, userId from revocation_log where seq > ? order by seq limit ?',
  )
  let listeners = 0
  let timer: ReturnType<typeof setInterval> | undefined
  let version: unknown
  /** The rest of the entries is read in the next turn. */
  let isReadingOn = false
  /** Null while nobody knows what was written before. */
  let lastSeq: number | null = null

  function start(): void {
    lastSeq = null
    timer = setInterval(poll, POLL_MS)
    timer.unref()
    setImmediate(poll)
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function poll(): void {
    if (timer === undefined || isReadingOn) return
    for (const revocation of news()) local.publish(revocation)
  }

  function pollOn(): void {
    isReadingOn = false
    poll()
  }

  function news(): readonly Revocation[] {
    try {
      const current = reader.pragma('data_version', { simple: true })
      return lastSeq === null ? beginAt(current) : readOn(lastSeq, current)
    } catch {
      if (!reader.open) stop()
      return []
    }
  }

  /** Nobody has looked since the last listener left, so whoever listens now is told to look. */
  function beginAt(current: unknown): readonly Revocation[] {
    lastSeq = newest.get() ?? 0
    version = current
    return [EVERYONE]
  }

  function readOn(seq: number, current: unknown): readonly Revocation[] {
    if (current === version) return []
    const entries = entriesAfter.all(seq, ENTRIES_AT_ONCE)
    lastSeq = entries.at(-1)?.seq ?? seq
    if (entries.length < ENTRIES_AT_ONCE) version = current
    else {
      isReadingOn = true
      setImmediate(pollOn)
    }
    return entries
  }

  return {
    get revision() {
      return local.revision
    },
    publish: local.publish,
    subscribe(key, listener) {
      const unsubscribe = local.subscribe(key, listener)
      listeners++
      if (timer === undefined) start()
      let isSubscribed = true
      return () => {
        if (!isSubscribed) return
        isSubscribed = false
        unsubscribe()
        listeners--
        if (listeners === 0) stop()
      }
    },
    close: stop,
  }
}

import { memoryFeed, type Revocation } from '../../revocations/feed.ts'
import { prefixed } from '../internal-tables.ts'
import { sqliteTypes } from '../migrations.ts'
import { missesInternalTable } from '../restore-tables.ts'
import type { SqliteConnection } from './connection.ts'
import type { OpenFeed } from './driver.ts'
import { whileSubscribed } from './while-subscribed.ts'

const POLL_MS = 100

/** How many entries are read in one turn of the event loop. */
const PAGE_SIZE = 500

const LOG = prefixed('revocation_log')

const EVERYONE: Revocation = { sessionId: null, userId: null }

/**
 * Creates a feed for all processes that share a file. Publishes changes of this process at once. While there
 * are subscribers, polls `data_version`, which changes when another connection writes, then reads the log. A
 * failed read is retried at the next poll.
 * @param reader a connection that never writes: `data_version` doesn't reflect its own writes
 * @param restore creates the log again if another tool dropped it
 */
export function sqliteFeed(reader: SqliteConnection, restore: () => Promise<unknown>): OpenFeed {
  const local = memoryFeed()
  const dataVersion = reader.prepareRow<[number]>('pragma data_version')
  const newest = reader.prepareRow<[number]>(`select coalesce(max(seq), 0) from ${LOG}`)
  const entriesAfter = reader.prepare(
    `select seq, sessionId, userId from ${LOG} where seq > ? order by seq limit ?`,
  )
  let timer: NodeJS.Timeout | undefined
  let version: unknown
  /** The next page is read in the next turn. */
  let hasNextPage = false
  /** Null until the first read since polling started. */
  let lastSeq: number | null = null

  function start(): void {
    if (timer !== undefined) return
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
      const current = dataVersion.get()?.[0]
      if (lastSeq === null) {
        lastSeq = newest.get()?.[0] ?? 0
        version = current
        // Nothing was read since the last subscriber left, so every subscriber must check its session.
        return [EVERYONE]
      }
      if (current === version) return []
      const entries = entriesAfter.all([lastSeq, PAGE_SIZE]) as (Revocation & { seq: number })[]
      lastSeq = entries.at(-1)?.seq ?? lastSeq
      hasNextPage = entries.length === PAGE_SIZE
      if (hasNextPage) setImmediate(readNextPage)
      else version = current
      return entries
    } catch (error) {
      if (!reader.isOpen) stop()
      if (!missesInternalTable(error, sqliteTypes)) return []
      // Changes were missed, so the next read publishes a change for everyone.
      lastSeq = null
      void restore().catch(() => {})
      return []
    }
  }

  return whileSubscribed(local, { start, stop })
}

import type { Client, Notification, Pool } from 'pg'
import { withDeadline } from '../../protocol/deadline.ts'
import { backOff } from '../../protocol.ts'
import type { Revocation, RevocationFeed } from '../../revocations/feed.ts'
import { memoryFeed } from '../../revocations/memory-feed.ts'
import { CHANNEL } from '../revocation-log.ts'
import { type PostgresConnector, RECONNECT_PAUSE } from './connector.ts'
import { isStatementFault } from './errors.ts'

/** How often the log is read though nothing was told, in milliseconds: a connection may be dead without knowing it. */
const HEARTBEAT_MS = 5_000

/** Entries that are read and told in one turn of the event loop. */
const ENTRIES_AT_ONCE = 500

/** An entry of the log. */
interface Entry extends Revocation {
  readonly seq: string
}

interface LogRow extends Entry {
  readonly xid: string
}

/** A feed for all processes that share a database. */
export interface PostgresFeed extends RevocationFeed {
  /** Resolves when the log is not being read any more. */
  close(): Promise<void>
}

/**
 * Changes of this process are told at once; of others the database notifies one connection of the node. Whenever that connection is new,
 * it catches up from the log on what was notified while there was none. What neither can tell is bounded by the lease of the streams.
 *
 * @param options.timeoutMs after which a connection that does not answer is given up
 */
export async function postgresFeed(
  connector: PostgresConnector,
  { timeoutMs }: { timeoutMs: number },
): Promise<PostgresFeed> {
  const local = memoryFeed()
  /** The oldest transaction that may still have been under way at the last reading: the numbers of entries are no order of commits. */
  let since = await oldestUnderWay(connector.pool)
  /** Entries of later transactions that were read already. */
  let known = new Set<string>()
  /** Entries that were notified since. Anybody may notify, so these keep nothing but the log from being told again. */
  let heard = new Set<string>()
  let isClosed = false
  /** In a row, until the log has been read again. */
  let failures = 0
  let client: Client | null = null
  let reading: Promise<void> = Promise.resolve()
  /** Makes the log be read before its time. */
  let wake = () => {}

  async function listen(): Promise<void> {
    while (!isClosed) {
      try {
        await listenOnce()
      } catch {
        // What the log is read for is made up for by the next connection.
        failures++
        await new Promise((resolve) => setTimeout(resolve, backOff(failures, RECONNECT_PAUSE)).unref())
      }
    }
  }

  /** Returns or throws when the connection has ended. */
  async function listenOnce(): Promise<void> {
    const listener = await connector.connect('sallyport-listen')
    client = listener
    let hasEnded = isClosed
    listener.once('end', () => {
      hasEnded = true
      wake()
    })
    listener.on('notification', hear)
    try {
      if (!hasEnded) await listenOn(listener)
      while (!hasEnded && !isClosed) {
        // Made before the log is read: what is told meanwhile may not be in it yet.
        const woken = new Promise<void>((resolve) => {
          wake = resolve
        })
        reading = catchUp(listener)
        await reading
        if (!hasEnded) await atLatest(woken, HEARTBEAT_MS)
      }
    } finally {
      client = null
      void listener.end().catch(() => {})
    }
  }

  async function listenOn(listener: Client): Promise<void> {
    try {
      await withDeadline(listener.query(`listen ${CHANNEL}`), timeoutMs)
    } catch (error) {
      // A database that is compatible but for this is read every few seconds.
      if (!isStatementFault(error)) throw error
    }
  }

  function hear({ payload }: Notification): void {
    // One that was on its way when the feed was closed.
    if (isClosed) return
    const entry = parseEntry(payload)
    if (entry === null) wake()
    else if (!known.has(entry.seq)) {
      heard.add(entry.seq)
      local.publish(entry)
    }
  }

  async function catchUp(listener: Client): Promise<void> {
    const oldest = await withDeadline(oldestUnderWay(listener), timeoutMs)
    const heardBefore = heard
    heard = new Set()
    const read = new Set<string>()
    for (let last: LogRow = { xid: since, seq: '0', sessionId: null, userId: null }; ; ) {
      const page = await withDeadline(
        listener.query<LogRow>(
          `select xid, seq, "sessionId", "userId" from revocation_log
            where (xid, seq) > ($1::text::xid8, $2::bigint) order by xid, seq limit ${ENTRIES_AT_ONCE}`,
          [last.xid, last.seq],
        ),
        timeoutMs,
      )
      for (const entry of page.rows) {
        read.add(entry.seq)
        const isTold = known.has(entry.seq) || heardBefore.has(entry.seq) || heard.has(entry.seq)
        if (!isTold && !isClosed) local.publish(entry)
        last = entry
      }
      if (page.rows.length < ENTRIES_AT_ONCE || isClosed) break
    }
    since = oldest
    known = read
    failures = 0
  }

  void listen()
  return {
    get revision() {
      return local.revision
    },
    subscribe: local.subscribe,
    publish: local.publish,
    async close() {
      isClosed = true
      // As with lookups: the statement of a connection that is gone keeps its locks.
      await reading.catch(() => {})
      void client?.end().catch(() => {})
    },
  }
}

async function oldestUnderWay(connection: Pick<Pool, 'query'> | Client): Promise<string> {
  const { rows } = await connection.query<{ xmin: string }>(
    'select pg_snapshot_xmin(pg_current_snapshot())::text as xmin',
  )
  return rows[0]?.xmin ?? '0'
}

/** Null where the entry was too long for a notification, or someone else has notified: the log tells what there is. */
function parseEntry(payload = ''): Entry | null {
  try {
    const entry: unknown = JSON.parse(payload)
    if (!Array.isArray(entry)) return null
    const [seq, sessionId, userId, ...further]: unknown[] = entry
    const isEntry =
      typeof seq === 'string' && isTextOrNull(sessionId) && isTextOrNull(userId) && further.length === 0
    return isEntry ? { seq, sessionId, userId } : null
  } catch {
    return null
  }
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

/** Resolves when something has happened, or after a time. */
function atLatest(event: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    timer.unref()
    void event.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

import type { Client, Notification, Pool } from 'pg'
import * as z from 'zod/mini'
import { withDeadline } from '../../protocol/deadline.ts'
import { backOff } from '../../protocol.ts'
import { memoryFeed, type Revocation, type RevocationFeed } from '../../revocations/feed.ts'
import { CHANNEL } from '../revocation-log.ts'
import { type PostgresConnector, RECONNECT_PAUSE } from './connect.ts'
import { isStatementFault } from './errors.ts'

/** How often to read the log without a notification, in case the connection has died. */
const HEARTBEAT_MS = 5_000

/** The size of a page of the log. Each page is published in a separate turn of the event loop. */
const PAGE_SIZE = 500

interface Entry extends Revocation {
  readonly seq: string
}

/**
 * Creates a feed for all processes that share a database. Publishes changes of this process at once, and
 * changes of others when the database notifies this node. A new connection reads missed changes from the log.
 * During an outage, streams rely on their leases. Closes a connection that doesn't respond in time.
 */
export async function postgresFeed(
  connector: PostgresConnector,
): Promise<RevocationFeed & { close(): Promise<void> }> {
  const { lookupTimeoutMs: timeoutMs } = connector
  const local = memoryFeed()
  /** The oldest open transaction at the last read: sequence numbers don't follow the order of commits. */
  let since = await oldestOpenTransaction(connector.pool)
  /** Entries of later transactions that were already read. */
  let known = new Set<string>()
  /** Entries notified since. Any database user can notify, so this only skips these entries of the log. */
  let notified = new Set<string>()
  let isClosed = false
  let failures = 0
  let client: Client | null = null
  let reading: Promise<void> = Promise.resolve()
  let readNow = () => {}

  async function listen(): Promise<void> {
    while (!isClosed) {
      try {
        await listenOnce()
      } catch {
        // The next connection reads the missed entries from the log.
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
      readNow()
    })
    listener.on('notification', receive)
    try {
      if (!hasEnded)
        await withDeadline(listener.query(`listen ${CHANNEL}`), timeoutMs).catch(ignoreStatementFault)
      while (!hasEnded && !isClosed) {
        // Created before the read, which may miss what is notified meanwhile.
        const requested = Promise.withResolvers<void>()
        readNow = requested.resolve
        reading = readLog(listener)
        await reading
        const timer = setTimeout(readNow, HEARTBEAT_MS).unref()
        if (!hasEnded) await requested.promise
        clearTimeout(timer)
      }
    } finally {
      client = null
      void listener.end().catch(() => {})
    }
  }

  function receive({ payload }: Notification): void {
    if (isClosed) return
    const entry = parseEntry(payload)
    if (entry === null) readNow()
    else if (!known.has(entry.seq)) {
      notified.add(entry.seq)
      local.publish(entry)
    }
  }

  async function readLog(listener: Client): Promise<void> {
    const oldest = await withDeadline(oldestOpenTransaction(listener), timeoutMs)
    const notifiedBefore = notified
    notified = new Set()
    const read = new Set<string>()
    for (let last: Entry & { xid: string } = { xid: since, seq: '0', sessionId: null, userId: null }; ; ) {
      const { rows } = await withDeadline(
        listener.query<typeof last>(
          `select xid, seq, "sessionId", "userId" from revocation_log
            where (xid, seq) > ($1::text::xid8, $2::bigint) order by xid, seq limit ${PAGE_SIZE}`,
          [last.xid, last.seq],
        ),
        timeoutMs,
      )
      for (const entry of rows) {
        read.add(entry.seq)
        const isPublished = [known, notifiedBefore, notified].some((entries) => entries.has(entry.seq))
        if (!isPublished && !isClosed) local.publish(entry)
        last = entry
      }
      if (rows.length < PAGE_SIZE || isClosed) break
    }
    since = oldest
    known = read
    failures = 0
  }

  void listen()
  return Object.assign(local, {
    async close() {
      isClosed = true
      // PostgreSQL finishes the statement of a closed connection and keeps its locks.
      await reading.catch(() => {})
      void client?.end().catch(() => {})
    },
  })
}

/** A compatible database without LISTEN: its log is read at every heartbeat. */
function ignoreStatementFault(error: unknown): void {
  if (!isStatementFault(error)) throw error
}

async function oldestOpenTransaction(connection: Pick<Pool, 'query'> | Client): Promise<string> {
  const { rows } = await connection.query<{ xmin: string }>(
    'select pg_snapshot_xmin(pg_current_snapshot())::text as xmin',
  )
  return rows[0]?.xmin ?? '0'
}

const Payload = z.tuple([z.string(), z.nullable(z.string()), z.nullable(z.string())])

/** Returns null if the entry was too long for a notification, or another program sent it. */
function parseEntry(payload = ''): Entry | null {
  try {
    const [seq, sessionId, userId] = Payload.parse(JSON.parse(payload))
    return { seq, sessionId, userId }
  } catch {
    return null
  }
}

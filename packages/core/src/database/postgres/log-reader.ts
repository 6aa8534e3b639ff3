import * as z from 'zod/mini'
import type { StoreMeter } from '../../events/telemetry.ts'
import { withDeadline } from '../../protocol/deadline.ts'
import type { Revocation } from '../../revocations/feed.ts'
import type { Query } from './drivers/driver.ts'

/** The size of a page of the log. Each page is published in a separate turn of the event loop. */
const PAGE_SIZE = 500

interface Entry extends Revocation {
  readonly seq: string
  readonly xid: string
  /** Seconds since its transaction began, by the clock of the database. */
  readonly age: number
}

/** Null if the log couldn't be written. */
type NotifiedEntry = Revocation & { readonly seq: string | null }

interface LogOptions {
  readonly query: Query
  /** The quoted name of the table. */
  readonly table: string
  readonly timeoutMs: number
  readonly meter: StoreMeter
  /** Whether an error means that the database lacks the log, or transaction ids. */
  readonly isMissing: (error: unknown) => boolean
  readonly publish: (entry: Revocation) => void
}

export interface LogReader {
  /** Publishes a notified entry. Returns false if the payload isn't an entry. */
  receive(payload: string): boolean
  /** Publishes the entries since the last read. Does nothing if the database has no log. */
  read(query: Query): Promise<void>
}

/** Reads the log of revocations from now on, and publishes each entry about once. */
export async function openLog({
  query,
  table,
  timeoutMs,
  meter,
  isMissing,
  publish,
}: LogOptions): Promise<LogReader> {
  function nullIfMissing(error: unknown): null {
    if (!isMissing(error)) throw error
    return null
  }

  /** The oldest open transaction at the last read: sequence numbers don't follow the order of commits. */
  let since = await oldestOpenTransaction(query).catch(nullIfMissing)
  /** Entries of later transactions that were already read. */
  let known = new Set<string>()
  /** Entries notified since. Any database user can notify, so this only skips these entries of the log. */
  let notified = new Set<string>()

  async function readPages(query: Query, from: string): Promise<void> {
    const oldest = await withDeadline(oldestOpenTransaction(query), timeoutMs)
    const notifiedBefore = notified
    notified = new Set()
    const read = new Set<string>()
    for (let last: Pick<Entry, 'xid' | 'seq'> = { xid: from, seq: '0' }; ; ) {
      const text = `select xid, seq, "sessionId", "userId",
        extract(epoch from clock_timestamp() - at)::float8 as age from ${table}
        where (xid, seq) > ($1::text::xid8, $2::bigint) order by xid, seq limit ${PAGE_SIZE}`
      const { rows } = await withDeadline(query<Entry>({ text, values: [last.xid, last.seq] }), timeoutMs)
      for (const entry of rows) {
        read.add(entry.seq)
        if (![known, notifiedBefore, notified].some((entries) => entries.has(entry.seq))) {
          publish(entry)
          meter.telemetry?.record('feedLag', entry.age, { system: meter.system, source: 'log' })
        }
        last = entry
      }
      if (rows.length < PAGE_SIZE) break
    }
    since = oldest
    known = read
  }

  return {
    receive(payload) {
      const entry = parseEntry(payload)
      if (entry === null) return false
      if (entry.seq === null) publish(entry)
      else if (!known.has(entry.seq)) {
        notified.add(entry.seq)
        publish(entry)
      }
      return true
    },
    async read(query) {
      since ??= await oldestOpenTransaction(query).catch(nullIfMissing)
      if (since !== null) await readPages(query, since).catch(nullIfMissing)
    },
  }
}

async function oldestOpenTransaction(query: Query): Promise<string> {
  const { rows } = await query<{ xmin: string }>({
    text: 'select pg_snapshot_xmin(pg_current_snapshot())::text as xmin',
  })
  return rows[0]?.xmin ?? '0'
}

const Payload = z.tuple([z.nullable(z.string()), z.nullable(z.string()), z.nullable(z.string())])

/** Returns null if the entry was too long for a notification, or another program sent it. */
function parseEntry(payload: string): NotifiedEntry | null {
  try {
    const [seq, sessionId, userId] = Payload.parse(JSON.parse(payload))
    return { seq, sessionId, userId }
  } catch {
    return null
  }
}

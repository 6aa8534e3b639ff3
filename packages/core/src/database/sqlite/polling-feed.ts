import { setImmediate as nextTurn } from 'node:timers/promises'
import { memoryFeed } from '../../revocations/feed.ts'
import type { SessionSql } from '../session-sql.ts'
import type { OpenFeed, RunStatement } from './driver.ts'
import { whileSubscribed } from './while-subscribed.ts'

const POLL_MS = 100

/** At most four passes a second. */
const PASS_MS = 250

/** How many sessions one statement reads. */
const CHUNK_SIZE = 500

export interface PollingOptions {
  readonly sql: SessionSql
  readonly read: RunStatement
  /** Returns a value that changes with every commit. */
  readonly readVersion: () => unknown
}

/**
 * Creates a feed for a file without our triggers. While there are subscribers, polls the version of the file.
 * When it changes, reads their sessions again, and publishes those that changed or are gone. Publishes the
 * session of a new subscriber once, because it may have changed before the first read. A failed read is
 * retried at the next poll.
 */
export function pollingFeed({ sql, read, readVersion }: PollingOptions): OpenFeed {
  const local = memoryFeed()
  const statement = pollStatement(sql)
  /** The rows of the last pass. A missing session is an empty text. */
  let known = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  let version: unknown
  let startedAt = Number.NEGATIVE_INFINITY
  let isReading = false
  let isDue = false

  function start(): void {
    isDue = true
    if (timer !== undefined) return
    timer = setInterval(poll, POLL_MS).unref()
    setImmediate(poll)
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
    known.clear()
  }

  async function poll(): Promise<void> {
    if (timer === undefined || isReading || performance.now() - startedAt < PASS_MS) return
    isReading = true
    try {
      const current = readVersion()
      if (!isDue && current === version) return
      startedAt = performance.now()
      isDue = false
      await pass()
      version = current
    } catch {
      isDue = true
    } finally {
      isReading = false
    }
  }

  async function pass(): Promise<void> {
    const before = known
    known = new Map()
    const keys = [...new Map(local.keys().map((key) => [JSON.stringify([key.sessionId, key.userId]), key]))]
    for (let start = 0; start < keys.length; start += CHUNK_SIZE) {
      const chunk = keys.slice(start, start + CHUNK_SIZE)
      const rows = await read(statement, [`[${chunk.map(([name]) => name).join()}]`])
      const found = new Map(rows.map(({ position, ...row }) => [Number(position), JSON.stringify(row)]))
      for (const [position, [name, key]] of chunk.entries()) {
        const row = found.get(position) ?? ''
        known.set(name, row)
        if (row !== before.get(name)) local.publish(key)
      }
      await nextTurn()
    }
  }

  return whileSubscribed(local, { start, stop })
}

/** Reads the sessions of a JSON array of `[sessionId, userId]`, with their positions in it. */
function pollStatement({ session, user }: SessionSql): string {
  return `select k.key as position, ${session.columns}, ${user.columns}${session.foreign}
    from json_each(?) k
    join ${session.table} s on s.${session.id} = k.value ->> 0 and s.${session.userId} = k.value ->> 1
    join ${user.table} u on u.${user.id} = s.${session.userId}`
}

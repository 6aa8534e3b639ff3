import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createFailureSource } from '../../events/failure-source.ts'
import type { StoreMeter } from '../../events/telemetry.ts'
import { memoryFeed } from '../../revocations/feed.ts'
import type { SessionKey } from '../../session/session.ts'
import type { SessionSql } from '../find-session-sql.ts'
import type { OpenFeed } from './driver.ts'

/** The longest time between reads of the file's version. Each takes a few microseconds. */
const MAX_POLL_MS = 100

/** The time between passes. On a file that another tool migrates, at most four run in a second. */
export const PASS_MS: { readonly own: number; readonly mapped: number } = { own: 25, mapped: 250 }

/** The share of the time that passes may take. */
const MAX_SHARE = 0.1

/** How many sessions one statement reads. */
const CHUNK_SIZE = 500

export interface PollingOptions {
  /** Runs the {@link pollStatement}, and returns its rows as arrays. */
  readonly read: (keys: string) => Promise<readonly (readonly unknown[])[]>
  /** Returns a value that changes with every commit, or a promise of it. */
  readonly readVersion: () => unknown
  readonly passMs: number
  readonly meter?: StoreMeter
}

/** A session that streams depend on. */
interface Watched {
  readonly key: SessionKey
  /** As JSON. */
  readonly name: string
  subscribers: number
  /** Whether a subscriber came after the last read. */
  isNew: boolean
  /** As last read; empty if the session is missing. */
  row: string
}

/**
 * Creates a feed for all processes that share a file. Publishes changes of this process at once. While there
 * are subscribers, polls the version of the file. When it changes, reads their sessions again in a pass, and
 * publishes those that changed or are gone. Publishes the session of a new subscriber once, because it may
 * have changed before the first read. A failed read is retried.
 */
export function pollingFeed({ read, readVersion, passMs, meter }: PollingOptions): OpenFeed {
  const local = memoryFeed()
  const failures = createFailureSource()
  const { subscribe } = local
  const watched = new Map<string, Watched>()
  const pollMs = Math.min(passMs, MAX_POLL_MS)
  let polling: AbortController | null = null
  let isClosed = false

  async function poll(signal: AbortSignal): Promise<void> {
    let version: unknown
    let dueAt = 0
    /** When the version last equaled that of the last pass. The next pass reads later commits. */
    let unchangedAt = 0
    await nextTurn()
    while (!signal.aborted) {
      const startedAt = performance.now()
      let isPass = false
      let busyMs = 0
      try {
        const current = await readVersion()
        isPass = current !== version && startedAt >= dueAt
        const sessions = [...watched.values()].filter(({ isNew }) => isPass || isNew)
        for (let start = 0; start < sessions.length && !signal.aborted; start += CHUNK_SIZE) {
          busyMs += await readChunk(sessions.slice(start, start + CHUNK_SIZE))
          await nextTurn()
        }
        if (isPass && version !== undefined && !signal.aborted) {
          const lag = (performance.now() - unchangedAt) / 1000
          meter?.telemetry?.record('feedLag', lag, { system: meter.system, source: 'poll' })
        }
        if (isPass) version = current
        if (current === version) unchangedAt = startedAt
        failures.recover()
      } catch (error) {
        // The version stays, so another pass follows. Once it's stopped, nothing would report the recovery.
        if (!signal.aborted) failures.fail('FEED_DOWN', error)
      }
      if (isPass) dueAt = startedAt + Math.max(passMs, busyMs / MAX_SHARE)
      const untilDue = dueAt - performance.now()
      const pauseMs = untilDue > 0 ? Math.min(untilDue, pollMs) : pollMs
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  /** Returns the processor time in milliseconds, without that of others while it waits for a lock. */
  async function readChunk(chunk: readonly Watched[]): Promise<number> {
    const startedAt = processorMs()
    const reading = read(`[${chunk.map(({ name }) => name).join()}]`)
    const waitsFrom = processorMs()
    const rows = new Map((await reading).map(([place, ...row]) => [Number(place), JSON.stringify(row)]))
    const waitedUntil = processorMs()
    for (const [place, session] of chunk.entries()) {
      const row = rows.get(place) ?? ''
      const isChanged = session.isNew || row !== session.row
      Object.assign(session, { row, isNew: false })
      if (isChanged) local.publish(session.key)
    }
    return waitsFrom - startedAt + processorMs() - waitedUntil
  }

  function stop(): void {
    polling?.abort()
    polling = null
    // Without subscribers, nothing is read, so nothing would report the recovery.
    failures.recover()
  }

  return Object.assign(local, {
    failures,
    subscribe(key: SessionKey, listener: () => void) {
      const unsubscribe = subscribe(key, listener)
      const name = JSON.stringify([key.sessionId, key.userId])
      const session = watched.get(name) ?? { key, name, subscribers: 0, isNew: true, row: '' }
      session.subscribers++
      session.isNew = true
      watched.set(name, session)
      if (polling === null && !isClosed) {
        polling = new AbortController()
        void poll(polling.signal)
      }
      let isSubscribed = true
      return () => {
        if (!isSubscribed) return
        isSubscribed = false
        unsubscribe()
        if (--session.subscribers === 0) watched.delete(name)
        if (watched.size === 0) stop()
      }
    },
    close() {
      isClosed = true
      stop()
    },
  })
}

/** On a crowded machine, the clock would count the time of other processes. */
function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Reads the sessions of a JSON array of `[sessionId, userId]`, each after its place in the array. */
export function pollStatement({ session, user }: SessionSql): string {
  return `select k.key, ${session.columns}, ${user.columns}${session.added}${user.added}
    from json_each(?) k
    join ${session.table} s on s.${session.id} = k.value ->> 0 and s.${session.userId} = k.value ->> 1
    join ${user.table} u on u.${user.id} = s.${session.userId}`
}

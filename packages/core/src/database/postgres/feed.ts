import { createFailureSource } from '../../events/failure-source.ts'
import { withDeadline } from '../../protocol/deadline.ts'
import { backOff } from '../../protocol.ts'
import { memoryFeed, type Revocation, type RevocationFeed } from '../../revocations/feed.ts'
import { missesInternalTable } from '../restore-tables.ts'
import { channelOf, internalTable } from '../schema/internal-tables.ts'
import type { PostgresConnector } from './connect.ts'
import { deliveryTest } from './delivery.ts'
import { RECONNECT_PAUSE } from './drivers/attempts.ts'
import type { Listening, Query } from './drivers/driver.ts'
import { isStatementFault } from './drivers/errors.ts'
import { openLog } from './log-reader.ts'

/** How often to read the log without a notification, in case the connection has died. */
const HEARTBEAT_MS = 5_000

const EVERYONE: Revocation = { sessionId: null, userId: null }

interface FeedOptions {
  /** Runs a statement on a connection that doesn't listen. */
  readonly otherConnection: Query
  /** Whether sessions were looked up since the last call. Without lookups, no stream is open. */
  readonly isUsed: () => boolean
  /** Creates the log again if another tool dropped it. */
  readonly restore: () => Promise<unknown>
}

/**
 * Creates a feed for all processes that share a database. Publishes changes of this process at once, and
 * changes of others when the database notifies this node. A new connection reads missed changes from the log.
 * During an outage, and where notifications don't arrive, streams rely on their leases. Every heartbeat reads
 * the log and tests the delivery. Closes a connection that doesn't respond in time.
 */
export async function postgresFeed(
  { driver, lookupTimeoutMs: timeoutMs, schema, meter }: PostgresConnector,
  { otherConnection, isUsed, restore }: FeedOptions,
): Promise<RevocationFeed & { close(): Promise<void> }> {
  const internal = { engine: 'postgres', schema } as const
  const channel = channelOf(schema)
  const local = memoryFeed()
  const failures = createFailureSource()
  let isClosed = false
  let attempts = 0
  let current: Pick<Listening, 'close'> | null = null
  let reading: Promise<void> = Promise.resolve()
  let readNow = () => {}
  const delivery = deliveryTest(Math.min(timeoutMs, HEARTBEAT_MS / 2), meter)
  const log = await openLog({
    query: driver.query,
    table: internalTable(internal, 'revocation_log'),
    timeoutMs,
    meter,
    isMissing: (error) => isStatementFault(error) && !missesInternalTable(error, internal),
    publish(entry) {
      if (!isClosed) local.publish(entry)
    },
  })

  async function run(): Promise<void> {
    while (!isClosed) {
      try {
        await listenOnce()
      } catch (error) {
        if (!isClosed) failures.fail('FEED_DOWN', error)
        // The next connection reads the missed entries from the log.
        attempts++
        await new Promise((resolve) => setTimeout(resolve, backOff(attempts, RECONNECT_PAUSE)).unref())
      }
    }
  }

  /** Returns or throws when the connection has ended, or after a heartbeat if nothing was delivered. */
  async function listenOnce(): Promise<void> {
    let hasEnded = isClosed
    let isHeartbeat = true
    const { query, close, isListening } = await listen(() => {
      hasEnded = true
      readNow()
    })
    current = { close }
    try {
      while (!hasEnded && !isClosed) {
        // Created before the read, which may miss what is notified meanwhile.
        const requested = Promise.withResolvers<boolean>()
        readNow = () => requested.resolve(false)
        reading = read(query, isHeartbeat && isListening)
        await reading
        attempts = 0
        failures.recover()
        const timer = setTimeout(() => requested.resolve(true), HEARTBEAT_MS).unref()
        if (!hasEnded) isHeartbeat = await requested.promise
        clearTimeout(timer)
        if (isHeartbeat && !delivery.works) return
      }
    } finally {
      current = null
      delivery.skip()
      close()
    }
  }

  /** Without LISTEN, only reads the log. */
  async function listen(onEnd: () => void) {
    const withoutListening = { query: driver.query, close() {}, isListening: false }
    if (driver.listen === undefined) {
      delivery.fail('unsupported')
      return withoutListening
    }
    try {
      const listening = await driver.listen(channel, { onPayload, onEnd })
      return { ...listening, isListening: true }
    } catch (error) {
      if (!isStatementFault(error)) throw error
      delivery.fail('rejected')
      return withoutListening
    }
  }

  function onPayload(payload: string): void {
    if (!isClosed && !delivery.receive(payload) && !log.receive(payload)) readNow()
  }

  async function read(query: Query, isTest: boolean): Promise<void> {
    // A test would keep an idle connection of the app's pool open, and with it the process.
    if (isTest && (isUsed() || !delivery.works))
      await withDeadline(delivery.test(otherConnection, channel), timeoutMs).catch(delivery.skip)
    await log.read(query).catch(restoreLog)
  }

  /** Changes may have been missed, so every stream validates its session again. */
  async function restoreLog(error: unknown): Promise<void> {
    if (!missesInternalTable(error, internal)) throw error
    await restore()
    if (!isClosed) local.publish(EVERYONE)
  }

  void run()
  return Object.assign(local, {
    failures,
    async close() {
      isClosed = true
      delivery.skip()
      // PostgreSQL finishes the statement of a closed connection and keeps its locks.
      await reading.catch(() => {})
      current?.close()
      readNow()
    },
  })
}

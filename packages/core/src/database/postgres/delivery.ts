import { randomUUID } from 'node:crypto'
import type { StoreMeter } from '../../events/telemetry.ts'
import type { Query } from './drivers/driver.ts'

/** Not a valid entry of the log. Other nodes ignore it. */
const PREFIX = 'sallyport-delivery-'

/** Why notifications don't arrive, and what to do. */
const REASONS = {
  unsupported: "this client can't listen. Pass a Pool of at least two connections",
  rejected: 'the server rejects LISTEN. Check that it supports LISTEN and NOTIFY',
  undelivered:
    'LISTEN was accepted, but a notification to ourselves did not arrive, as behind a pooler of transactions. Connect to PostgreSQL directly, or set pool_mode = session',
}

export interface Delivery {
  /**
   * Sends a notification to ourselves on another connection. On the same one, a pooler of transactions would
   * deliver it together with the result.
   */
  test(query: Query, channel: string): Promise<void>
  /** Returns whether the payload belongs to a test, of this or another node. */
  receive(payload: string): boolean
  /** Whether the last test arrived. */
  readonly works: boolean
  /** Notifications don't arrive: warns once. */
  fail(reason: keyof typeof REASONS): void
  /** Stops waiting for the notification, because a connection has ended. */
  skip(): void
}

/**
 * Tests whether notifications arrive. Until they do, the node runs on leases alone: each call reads its
 * session as before, and streams end when they read it again, within their lease.
 */
export function deliveryTest(timeoutMs: number, meter: StoreMeter): Delivery {
  let expected: string | null = null
  let works = false
  let isWarned = false
  let sentAt = 0

  function fail(reason: keyof typeof REASONS): void {
    works = false
    if (isWarned) return
    isWarned = true
    console.warn(
      `sallyport: streams run on leases alone, because ${REASONS[reason]}. Calls are checked as before. After a revocation on another node, streams end within their lease of 5 seconds.`,
    )
  }

  return {
    fail,
    skip() {
      expected = null
    },
    get works() {
      return works
    },
    async test(query, channel) {
      const payload = `${PREFIX}${randomUUID()}`
      expected = payload
      sentAt = performance.now()
      // Loses nothing if the server crashes, so the commit doesn't wait for the disk or a replica.
      await query({
        text: `select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`,
        values: [channel, payload],
      })
      const check = () => {
        if (expected === payload) fail('undelivered')
      }
      // After a pause of the process, the notification is read before that.
      setTimeout(() => setImmediate(check), timeoutMs).unref()
    },
    receive(payload) {
      if (payload === expected) {
        expected = null
        works = true
        const lag = (performance.now() - sentAt) / 1000
        meter.telemetry?.record('feedLag', lag, { system: meter.system, source: 'notification' })
      }
      return payload.startsWith(PREFIX)
    },
  }
}

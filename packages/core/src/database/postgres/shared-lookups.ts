import type { LookupConnections, LookupEvents, PostgresDriver } from './drivers/driver.ts'

/**
 * Runs lookups on the app's own pool. The pool replaces connections that fail, so there is never an outage to
 * wait for: each batch takes the connection that the pool has.
 */
export function sharedLookups(
  { query }: Pick<PostgresDriver, 'query'>,
  { prepare, onReady }: LookupEvents,
): LookupConnections {
  const shared = { query, lookUp: query }
  let isReady = false
  let isClosed = false
  const opened = prepare(shared).then(() => {
    isReady = true
    onReady()
  })
  opened.catch(() => {})
  return {
    opened,
    current: () => (isReady && !isClosed ? shared : undefined),
    spare: () => undefined,
    replace() {},
    async close(running) {
      isClosed = true
      await Promise.allSettled([running, opened])
    },
  }
}

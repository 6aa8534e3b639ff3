import type { Client } from 'pg'
import { withDeadline } from '../../../protocol/deadline.ts'
import { backOff } from '../../../protocol.ts'
import { RECONNECT_PAUSE } from './attempts.ts'
import type { LookupConnection, LookupConnections, LookupEvents, Query } from './driver.ts'
import { pgQuery } from './pg-connection.ts'
import { pgLookup } from './pg-lookup.ts'
import { type FreezeWatch, watchFreezes } from './watch-freezes.ts'

/** One connection runs the lookups, the other is a standby. */
const CONNECTIONS = 2

interface PgLookupConnection extends LookupConnection {
  readonly client: Client
}

interface ConnectionOptions {
  /** Connects without a timeout of statements: its timer would cost a twentieth of a lookup. */
  readonly connect: () => Promise<Client & { readonly isPooled: boolean }>
  /** Timeout of statements that aren't lookups. */
  readonly timeoutMs: number
}

/** Keeps two connections for lookups, and replaces one that fails. */
export function lookupConnections(
  { connect, timeoutMs }: ConnectionOptions,
  { prepare, onReady, onOutage }: LookupEvents,
): LookupConnections {
  const connections: PgLookupConnection[] = []
  const opened = Promise.withResolvers<void>()
  opened.promise.catch(() => {})
  let preparing: Promise<void> | null = null
  /** That of the latest run of `keepConnected`, until no connection is missing. */
  let loop: FreezeWatch | null = null
  let isClosed = false

  /** Opens the missing connections. After a freeze, it doesn't wait for an attempt or a pause from before. */
  async function keepConnected(): Promise<void> {
    const former = loop
    if (isClosed || former?.wasFrozen() === false) return
    const own = watchFreezes()
    loop = own
    former?.stop()
    // Ends an outage from before the freeze.
    if (former !== null) onReady()
    let failures = 0
    while (!isClosed && loop === own && connections.length < CONNECTIONS) {
      try {
        await addConnection()
        failures = 0
      } catch (error) {
        opened.reject(error)
        if (!isClosed && own.wasFrozen()) return keepConnected()
        failures++
        if (connections.length === 0) onOutage(error)
        await new Promise((resolve) => setTimeout(resolve, backOff(failures, RECONNECT_PAUSE)).unref())
      }
    }
    own.stop()
    if (loop === own) loop = null
  }

  async function addConnection(): Promise<void> {
    const client = await connect()
    if (isClosed) return void client.end()
    const run = pgQuery(client)
    // A pooler's other connections may have prepared a statement before or after a column was altered.
    const lookUp = client.isPooled ? run : pgLookup(client)
    const query: Query = (statement) => withDeadline(run(statement), timeoutMs)
    const connection = { client, query, lookUp, rejectsHiddenRows: !client.isPooled }
    preparing = prepare(connection)
    await preparing.catch((error: unknown) => {
      void client.end().catch(() => {})
      throw error
    })
    if (isClosed || connections.length === CONNECTIONS) return void client.end()
    client.once('end', () => replace(connection))
    connections.push(connection)
    opened.resolve()
    onReady()
  }

  function replace(connection: LookupConnection): void {
    const replaced = connections.find((each) => each === connection)
    if (replaced !== undefined) connections.splice(connections.indexOf(replaced), 1)
    void replaced?.client.end().catch(() => {})
    void keepConnected()
  }

  void keepConnected()
  return {
    opened: opened.promise,
    current() {
      if (connections.length === 0) void keepConnected()
      return connections[0]
    },
    spare: () => connections[1],
    replace,
    async close(running) {
      isClosed = true
      // PostgreSQL finishes the statement of a closed connection and keeps its locks. The app may migrate.
      await Promise.allSettled([running, preparing])
      for (const { client } of connections.splice(0)) void client.end()
    },
  }
}

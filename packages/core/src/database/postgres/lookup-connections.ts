import type { Client } from 'pg'
import { backOff } from '../../protocol.ts'
import { type PostgresConnector, RECONNECT_PAUSE } from './connect.ts'

/** One connection runs the lookups, the other is a standby. */
const CONNECTIONS = 2

export interface ConnectionOptions {
  readonly connector: PostgresConnector
  /** Prepares a new connection, so a failover costs no more than the lookup. */
  readonly prepare: (client: Client) => Promise<void>
  readonly onReady: () => void
  /** Called when no connection is left and an attempt to connect has failed. */
  readonly onOutage: (error: unknown) => void
}

export interface LookupConnections {
  /** Returns the connection for the next statement, if one is ready. */
  current(): Client | undefined
  replace(client: Client): void
  /** Closes all connections once `running`, the current statement, has finished. */
  close(running: Promise<void> | null): Promise<void>
}

/** Keeps two connections for lookups, and replaces one that fails. */
export function lookupConnections(options: ConnectionOptions): LookupConnections {
  const clients: Client[] = []
  let preparing: Promise<void> | null = null
  let isConnecting = false
  let isClosed = false

  async function connect(): Promise<void> {
    if (isConnecting) return
    isConnecting = true
    let failures = 0
    while (!isClosed && clients.length < CONNECTIONS) {
      try {
        await addClient()
        failures = 0
      } catch (error) {
        failures++
        if (clients.length === 0) options.onOutage(error)
        await new Promise((resolve) => setTimeout(resolve, backOff(failures, RECONNECT_PAUSE)).unref())
      }
    }
    isConnecting = false
  }

  async function addClient(): Promise<void> {
    const client = await options.connector.connect('sallyport-lookup')
    if (isClosed) return void client.end()
    preparing = options.prepare(client)
    await preparing.catch((error: unknown) => {
      void client.end().catch(() => {})
      throw error
    })
    if (isClosed) return void client.end()
    client.once('end', () => replace(client))
    clients.push(client)
    options.onReady()
  }

  function replace(client: Client): void {
    const index = clients.indexOf(client)
    if (index !== -1) clients.splice(index, 1)
    void client.end().catch(() => {})
    void connect()
  }

  void connect()
  return {
    current: () => clients[0],
    replace,
    async close(running) {
      isClosed = true
      // PostgreSQL finishes the statement of a closed connection and keeps its locks. The app may migrate.
      await Promise.allSettled([running, preparing])
      for (const client of clients.splice(0)) void client.end()
    },
  }
}

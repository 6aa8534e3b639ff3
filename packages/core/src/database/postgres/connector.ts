import { Client, type ClientConfig, Pool } from 'pg'
import { DeadlineError, withDeadline } from '../../protocol/deadline.ts'
import { backOff } from '../../protocol.ts'

/** How long to wait after consecutive failures. */
export const RECONNECT_PAUSE: { minMs: number; maxMs: number } = { minMs: 50, maxMs: 500 }

/** A longer timer fires at once. */
export const MAX_TIMEOUT_MS: number = 2 ** 31 - 1

/** Opens all connections of a node to its database. */
export interface PostgresConnector {
  /** Opens a dedicated connection. A connection error ends it and is never an uncaught exception. */
  connect(name: string): Promise<Client>
  readonly pool: Pool
}

interface ConnectorOptions {
  readonly config: ClientConfig
  readonly poolSize: number
  /** Timeout of an attempt, and of the wait for a connection of the pool. */
  readonly connectTimeoutMs: number
}

/**
 * Makes one attempt to connect at a time, so a server that comes back isn't stormed. After a failed attempt,
 * others fail with its error for up to half a second. A server in recovery is rejected: its data is stale.
 */
export function postgresConnector(options: ConnectorOptions): PostgresConnector {
  const { config, poolSize, connectTimeoutMs } = options
  let lastAttempt: Promise<unknown> = Promise.resolve()
  let failures = 0
  let failed: { readonly error: unknown; readonly until: number } | null = null

  function enqueue<Connection>(attempt: () => Promise<Connection>): Promise<Connection> {
    const queuedAt = performance.now()
    const connection = lastAttempt.then(async () => {
      if (performance.now() - queuedAt > connectTimeoutMs) throw new DeadlineError('No connection in time')
      if (failed !== null && performance.now() < failed.until) throw failed.error
      try {
        const connection = await attempt()
        failures = 0
        failed = null
        return connection
      } catch (error) {
        failures++
        failed = { error, until: performance.now() + backOff(failures, RECONNECT_PAUSE) }
        throw error
      }
    })
    lastAttempt = connection.catch(() => {})
    return connection
  }

  class PrimaryClient extends Client {
    constructor(options?: ClientConfig) {
      super({ ...options, connectionTimeoutMillis: connectTimeoutMs })
      // A running query gets the error too. Without a listener an idle connection would end the process.
      this.on('error', () => {})
    }

    override connect(): Promise<this>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<this> | undefined {
      const connected = enqueue(() => this.#connectToPrimary())
      if (callback === undefined) return connected.then(() => this)
      connected.then(() => (callback as () => void)(), callback)
      return undefined
    }

    /** Whether no statement or transaction is open. The driver's types lack `readyForQuery`. */
    isIdle(): boolean {
      const isReady = 'readyForQuery' in this && this.readyForQuery === true
      return isReady && this.getTransactionStatus() === 'I'
    }

    async #connectToPrimary(): Promise<void> {
      await super.connect()
      try {
        const { rows } = await withDeadline(
          this.query<{ standby: boolean }>('select pg_is_in_recovery() as standby'),
          connectTimeoutMs,
        )
        if (rows[0]?.standby !== false) throw new Error('The server is in recovery, so its data is stale')
      } catch (error) {
        void this.end()
        throw error
      }
    }
  }

  const pool = new Pool({
    ...config,
    application_name: 'sallyport',
    max: poolSize,
    // Also covers waiting for a free connection. The queue and the attempt have separate timeouts.
    connectionTimeoutMillis: Math.min(2 * connectTimeoutMs, MAX_TIMEOUT_MS),
    allowExitOnIdle: true,
    Client: PrimaryClient,
  })
  pool.on('error', () => {})
  // Never reuse a connection that was abandoned in a statement or transaction.
  pool.on('release', (_error, client) => {
    if (client instanceof PrimaryClient && !client.isIdle()) void client.end().catch(() => {})
  })

  return {
    pool,
    async connect(name) {
      const client = new PrimaryClient({ ...config, application_name: name })
      await client.connect()
      return client
    },
  }
}

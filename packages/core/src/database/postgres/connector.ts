import { Client, type ClientConfig, Pool } from 'pg'
import { DeadlineError, withDeadline } from '../../protocol/deadline.ts'
import { backOff } from '../../protocol.ts'

/** How long to wait after failures in a row. */
export const RECONNECT_PAUSE: { minMs: number; maxMs: number } = { minMs: 50, maxMs: 500 }

/** Makes all connections of a node to its database. */
export interface PostgresConnector {
  /** A connection of one's own. Errors that come when nothing is asked of it end it, and are no exceptions. */
  connect(name: string): Promise<Client>
  /** Connections that are shared. */
  readonly pool: Pool
}

/** What {@link postgresConnector} takes. */
export interface ConnectorOptions {
  readonly config: ClientConfig
  readonly poolSize: number
  /** How long an attempt may take, and how long one waits for a connection of the pool, in milliseconds. */
  readonly connectTimeoutMs: number
}

/**
 * One attempt at a time, however many wait for one: a server that comes back is not stormed. After an attempt that failed, others fail
 * with its error for up to half a second. A server in recovery is refused like one that is down: what it says is out of date.
 */
export function postgresConnector({
  config,
  poolSize,
  connectTimeoutMs,
}: ConnectorOptions): PostgresConnector {
  let line: Promise<unknown> = Promise.resolve()
  let failures = 0
  let failed: { readonly error: unknown; readonly until: number } | null = null

  function inLine<Connection>(attempt: () => Promise<Connection>): Promise<Connection> {
    const joinedAt = performance.now()
    const turn = line.then(async () => {
      if (performance.now() - joinedAt > connectTimeoutMs) throw new DeadlineError('No connection in time')
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
    line = turn.catch(() => {})
    return turn
  }

  /** A connection that waits in line, and is made only to a primary. */
  class PrimaryClient extends Client {
    constructor(options?: ClientConfig) {
      super({ ...options, connectionTimeoutMillis: connectTimeoutMs })
      // The query under way is told as well; one that comes in between must not end the process.
      this.on('error', () => {})
    }

    override connect(): Promise<this>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<this> | undefined {
      const connected = inLine(() => this.#connectToPrimary())
      if (callback === undefined) return connected.then(() => this)
      connected.then(() => (callback as () => void)(), callback)
      return undefined
    }

    /** Whether nothing is under way, neither a statement, which the types of the driver do not tell of, nor a transaction. */
    isAtRest(): boolean {
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
        if (rows[0]?.standby !== false)
          throw new Error('The server is in recovery, so what it says is out of date')
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
    // The line and the attempt have a bound each; this one is for a connection of the pool that others have.
    connectionTimeoutMillis: Math.min(2 * connectTimeoutMs, 2 ** 31 - 1),
    allowExitOnIdle: true,
    Client: PrimaryClient,
  })
  pool.on('error', () => {})
  // One whose statement is still under way, or that was left in a transaction when it was given up, must not be used again.
  pool.on('release', (_error, client) => {
    if (client instanceof PrimaryClient && !client.isAtRest()) void client.end().catch(() => {})
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

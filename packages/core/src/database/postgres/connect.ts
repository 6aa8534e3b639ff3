import { Client, type ClientConfig, Pool } from 'pg'
import { DeadlineError, withDeadline } from '../../protocol/deadline.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import { MAX_TIMER_MS, requirePositive } from '../../protocol/settings.ts'
import { backOff } from '../../protocol.ts'

export const RECONNECT_PAUSE: { minMs: number; maxMs: number } = { minMs: 50, maxMs: 500 }

export interface PostgresConnector {
  /** Opens a dedicated connection. A connection error ends it and is never an uncaught exception. */
  connect(name: string): Promise<Client>
  readonly pool: Pool
  readonly lookupTimeoutMs: number
}

/** Options of a PostgreSQL database. */
export interface PostgresOptions {
  /** Size of the pool. Lookups and the feed have three more connections. @default 10 */
  readonly poolSize?: number
  /** Timeout of a Step 2 lookup in milliseconds, after which it fails with 503. @default 2_000 */
  readonly lookupTimeoutMs?: number
  /** Timeout of any other statement, in milliseconds. @default 5_000 */
  readonly statementTimeoutMs?: number
  /** Timeout of an attempt to connect, in milliseconds. @default 2_000 */
  readonly connectTimeoutMs?: number
}

/**
 * Creates the connector of a node. It makes one attempt to connect at a time, to not flood a server that
 * comes back. After a failed attempt, others fail with its error for up to half a second. Rejects a server in
 * recovery, whose data is stale.
 * @throws ConfigurationError if the URL isn't a PostgreSQL URL, or an option is invalid
 */
export function connectPostgres(url: string, options: PostgresOptions): PostgresConnector {
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url))
    throw new ConfigurationError(
      'The URL is not a PostgreSQL URL. Write postgres://user:password@host:5432/database, and encode the password with encodeURIComponent().',
    )
  const timeout = (name: Exclude<keyof PostgresOptions, 'poolSize'>, defaultMs: number) =>
    requirePositive(name, options[name] ?? defaultMs, MAX_TIMER_MS)
  const statementTimeoutMs = timeout('statementTimeoutMs', 5_000)
  const connectTimeoutMs = timeout('connectTimeoutMs', 2_000)
  const lookupTimeoutMs = timeout('lookupTimeoutMs', 2_000)
  const config: ClientConfig = {
    connectionString: url,
    statement_timeout: statementTimeoutMs,
    // A server that was stopped can't enforce its own timeout.
    query_timeout: Math.min(statementTimeoutMs + 1_000, MAX_TIMER_MS),
    keepAlive: true,
  }
  let lastAttempt: Promise<unknown> = Promise.resolve()
  let failures = 0
  let failed: { readonly error: unknown; readonly until: number } | null = null

  function enqueue<Connection>(attempt: () => Promise<Connection>): Promise<Connection> {
    const queuedAt = performance.now()
    const connection = lastAttempt.then(async () => {
      if (performance.now() - queuedAt > connectTimeoutMs)
        throw new DeadlineError('No connection in time. Check the database, or raise connectTimeoutMs.')
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
        if (rows[0]?.standby !== false)
          throw new Error('The server is in recovery, so its data is stale. Connect to the primary.')
      } catch (error) {
        void this.end()
        throw error
      }
    }
  }

  const pool = new Pool({
    ...config,
    application_name: 'sallyport',
    max: requirePositive('poolSize', options.poolSize ?? 10),
    // Also covers waiting for a free connection. The queue and the attempt have separate timeouts.
    connectionTimeoutMillis: Math.min(2 * connectTimeoutMs, MAX_TIMER_MS),
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
    lookupTimeoutMs,
    async connect(name) {
      const client = new PrimaryClient({ ...config, application_name: name })
      await client.connect()
      return client
    },
  }
}

/** Closes the pool. Later statements fail with `SESSIONS_UNAVAILABLE`. */
export async function endPostgres({ pool }: PostgresConnector): Promise<void> {
  if (!pool.ended && !pool.ending) await pool.end()
}

import type { Client, ClientConfig } from 'pg'
import type { StoreMeter } from '../../../events/telemetry.ts'
import { withDeadline } from '../../../protocol/deadline.ts'
import { ConfigurationError } from '../../../protocol/errors.ts'
import { MAX_TIMER_MS } from '../../../protocol/settings.ts'
import { connectionAttempts } from './attempts.ts'
import type { PostgresDriver } from './driver.ts'
import { lookupConnections } from './lookup-connections.ts'
import { pgListening } from './pg-connection.ts'
import { pgPoolDriver } from './pg-driver.ts'
import { checkPrimaryRow } from './primary.ts'

/** Two connections for lookups, and one that listens. */
const DEDICATED_CONNECTIONS = 3

const MAX_IDLE_MS = 10_000

export interface ConnectionSettings {
  readonly poolSize: number
  readonly statementTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly meter: StoreMeter
}

/**
 * Opens a pool and dedicated connections with the package `pg`. Rejects a server in recovery, whose data is
 * stale. A pooler hides the server's process id. There, no setting is changed, because it would reach other
 * programs.
 */
export async function urlDriver(
  url: string,
  { poolSize, statementTimeoutMs, connectTimeoutMs, meter }: ConnectionSettings,
): Promise<PostgresDriver> {
  const { Client, Pool } = await loadPg()
  const attempt = connectionAttempts(poolSize + DEDICATED_CONNECTIONS)
  // A server that was stopped can't enforce its own timeout.
  const timeoutMs = Math.min(statementTimeoutMs + 1_000, MAX_TIMER_MS)
  const untimed: ClientConfig = {
    connectionString: url,
    statement_timeout: statementTimeoutMs,
    keepAlive: true,
  }
  const config: ClientConfig = { ...untimed, query_timeout: timeoutMs }

  class PrimaryClient extends Client {
    isPooled = true
    /** The driver's types lack it. */
    declare readonly unref: () => void
    readonly #isLookup: boolean

    constructor({ isLookup = false, ...options }: PrimaryConfig = {}) {
      super({ ...options, connectionTimeoutMillis: connectTimeoutMs })
      this.#isLookup = isLookup
      // A running query gets the error too. Without a listener an idle connection would end the process.
      this.on('error', () => {})
    }

    override connect(): Promise<this>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<this> | undefined {
      const connected = attempt(() => this.#connectToPrimary())
      if (callback === undefined) return connected.then(() => this)
      connected.then(() => (callback as () => void)(), callback)
      return undefined
    }

    async #connectToPrimary(): Promise<void> {
      await super.connect()
      try {
        const statement = primaryStatement(this, this.#isLookup)
        const checked = this.query<{ standby: boolean; direct: boolean }>(statement)
        const { rows } = await withDeadline(checked, connectTimeoutMs)
        checkPrimaryRow(rows[0])
        this.isPooled = rows[0]?.direct !== true
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
    idleTimeoutMillis: MAX_IDLE_MS,
    // Covers waiting for a free connection, behind a statement that takes as long as it may.
    connectionTimeoutMillis: Math.min(2 * connectTimeoutMs + statementTimeoutMs, MAX_TIMER_MS),
    allowExitOnIdle: true,
    Client: PrimaryClient,
  })
  pool.on('error', () => {})

  async function connect(options: PrimaryConfig): Promise<PrimaryClient> {
    const client = new PrimaryClient(options)
    await client.connect()
    // Like the pool, lets the process exit, also if the server hangs and never closes the connection. The
    // timeout of a running statement keeps it alive.
    client.unref()
    return client
  }

  const connectLookups = () => connect({ ...untimed, application_name: 'sallyport-lookup', isLookup: true })

  return {
    ...pgPoolDriver(pool, { maxIdleMs: MAX_IDLE_MS, meter }),
    listen: async (channel, events) => {
      const client = await connect({ ...config, application_name: 'sallyport-listen' })
      return pgListening(client, { channel, events, end: () => void client.end().catch(() => {}) })
    },
    openLookups: (events) =>
      lookupConnections(
        {
          // A call can begin the attempts, which last as long as the outage.
          connect: () => meter.telemetry?.detach(connectLookups) ?? connectLookups(),
          timeoutMs,
        },
        events,
      ),
    async close() {
      if (!pool.ended && !pool.ending) await pool.end()
    },
  }
}

interface PrimaryConfig extends ClientConfig {
  readonly isLookup?: boolean
}

/**
 * Also stops the planner from planning each lookup again: it assumes ten keys, and planning costs more than
 * running it. A lookup from which row-level security would hide rows fails, instead of finding no session.
 */
function primaryStatement(client: Client, isLookup: boolean): string {
  const pid = 'processID' in client && typeof client.processID === 'number' ? client.processID : 0
  const set = (name: string, value: string) =>
    `, case when pg_backend_pid() = ${pid} then set_config('${name}', '${value}', false) end`
  const settings = set('plan_cache_mode', 'force_generic_plan') + set('row_security', 'off')
  return `select pg_is_in_recovery() as standby, pg_backend_pid() = ${pid} as direct${isLookup ? settings : ''}`
}

async function loadPg() {
  // Only in a `try` block does Turbopack build an app without the package.
  try {
    return await import('pg')
  } catch (cause) {
    throw new ConfigurationError('pg is not installed. Install it, or pass { pool }.', { cause })
  }
}

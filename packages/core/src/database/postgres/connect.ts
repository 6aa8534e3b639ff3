import { ConfigurationError } from '../../protocol/errors.ts'
import { MAX_TIMER_MS, requirePositive } from '../../protocol/settings.ts'
import { checkSchema, INTERNAL_SCHEMA } from '../schema/internal-tables.ts'
import { driverOf } from './drivers/client-driver.ts'
import type { PostgresClient, PostgresHttpClient } from './drivers/clients.ts'
import type { PostgresDriver } from './drivers/driver.ts'
import { urlDriver } from './drivers/url-driver.ts'
import { type NamedQuery, statementNames } from './statement-names.ts'

const MAX_BATCH = 256

/** A URL, or a client of the app. */
export type PostgresSource<Client = PostgresClient> = string | { readonly pool: Client }

/** A driver with the settings of a store. */
export interface PostgresConnector {
  /** Runs named statements, unless a pooler mixes up their names. */
  readonly driver: PostgresDriver
  /** Makes a connection run unnamed statements once the driver does. */
  readonly named: NamedQuery
  readonly lookupTimeoutMs: number
  /** How many sessions a statement reads, and how many such statements run at once. */
  readonly lookups: { readonly batchSize: number; readonly parallel: number }
  /** The schema of our internal tables. */
  readonly schema: string
}

/** Options of a PostgreSQL database. */
export interface PostgresOptions {
  /** Size of the pool. Lookups and the feed have three more connections. Only for a URL. @default 10 */
  readonly poolSize?: number
  /** Timeout of a Step 2 lookup in milliseconds, after which it fails with 503. @default 2_000 */
  readonly lookupTimeoutMs?: number
  /**
   * How many sessions a lookup reads at most. Set 1 for a server with shards: no lookup then crosses them,
   * and lookups run in parallel on the pool. @default 256
   */
  readonly lookupBatchSize?: number
  /** Timeout of any other statement, in milliseconds. @default 5_000 */
  readonly statementTimeoutMs?: number
  /** Timeout of an attempt to connect, in milliseconds. Only for a URL. @default 2_000 */
  readonly connectTimeoutMs?: number
  /** The schema of our internal tables, created if it is missing. @default 'sallyport' */
  readonly schema?: string
}

/**
 * Creates the connector of a node.
 * @throws ConfigurationError if the URL or an option is invalid, or the client is unknown
 */
export async function connectPostgres(
  source: PostgresSource<PostgresClient | PostgresHttpClient>,
  options: PostgresOptions,
): Promise<PostgresConnector> {
  const timeout = (name: Extract<keyof PostgresOptions, `${string}TimeoutMs`>, defaultMs: number) =>
    requirePositive(name, options[name] ?? defaultMs, MAX_TIMER_MS)
  const schema = checkSchema(options.schema ?? INTERNAL_SCHEMA)
  const poolSize = requirePositive('poolSize', options.poolSize ?? 10)
  const batchSize = requirePositive('lookupBatchSize', options.lookupBatchSize ?? MAX_BATCH, MAX_BATCH)
  const settings = {
    poolSize,
    statementTimeoutMs: timeout('statementTimeoutMs', 5_000),
    connectTimeoutMs: timeout('connectTimeoutMs', 2_000),
  }
  const lookupTimeoutMs = timeout('lookupTimeoutMs', 2_000)
  const driver =
    typeof source === 'string' ? await urlDriver(checkUrl(source), settings) : driverOf(source.pool, settings)
  const named = statementNames()
  return {
    driver: { ...driver, query: (statement) => named(driver.query, statement) },
    named,
    lookupTimeoutMs,
    lookups: { batchSize, parallel: batchSize === 1 ? poolSize : 1 },
    schema,
  }
}

function checkUrl(url: string): string {
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return url
  throw new ConfigurationError(
    'The URL is not a PostgreSQL URL. Write postgres://user:password@host:5432/database, and encode the password with encodeURIComponent().',
  )
}

import { ConfigurationError } from '../../protocol/errors.ts'
import { requirePositive } from '../../protocol/settings.ts'
import { MAX_TIMEOUT_MS, type PostgresConnector, postgresConnector } from './connector.ts'

/** Options of a PostgreSQL database. */
export interface PostgresOptions {
  /** Size of the pool. Lookups and the feed have three more connections. @default 10 */
  readonly poolSize?: number
  /** Timeout of a Step 2 lookup, after which it is 503, in milliseconds. @default 2_000 */
  readonly lookupTimeoutMs?: number
  /** Timeout of any other statement, in milliseconds. @default 5_000 */
  readonly statementTimeoutMs?: number
  /** Timeout of an attempt to connect, in milliseconds. @default 2_000 */
  readonly connectTimeoutMs?: number
}

/**
 * Creates the connector of a node.
 *
 * @throws ConfigurationError if the URL isn't a PostgreSQL URL, or an option is invalid
 */
export function connectPostgres(
  url: string,
  options: PostgresOptions,
): { connector: PostgresConnector; lookupTimeoutMs: number } {
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url))
    throw new ConfigurationError(
      'A PostgreSQL database URL looks like postgres://user:password@host:5432/database, with the password in encodeURIComponent()',
    )
  const milliseconds = (name: keyof PostgresOptions, value: number) =>
    requirePositive(name, value, MAX_TIMEOUT_MS)
  const statementTimeoutMs = milliseconds('statementTimeoutMs', options.statementTimeoutMs ?? 5_000)
  const connector = postgresConnector({
    config: {
      connectionString: url,
      statement_timeout: statementTimeoutMs,
      // A server that was stopped can't enforce its own timeout.
      query_timeout: Math.min(statementTimeoutMs + 1_000, MAX_TIMEOUT_MS),
      keepAlive: true,
    },
    poolSize: requirePositive('poolSize', options.poolSize ?? 10),
    connectTimeoutMs: milliseconds('connectTimeoutMs', options.connectTimeoutMs ?? 2_000),
  })
  return { connector, lookupTimeoutMs: milliseconds('lookupTimeoutMs', options.lookupTimeoutMs ?? 2_000) }
}

/** Closes the pool. Later statements are 503. */
export async function endPostgres({ pool }: PostgresConnector): Promise<void> {
  if (!pool.ended && !pool.ending) await pool.end()
}

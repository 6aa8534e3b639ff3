import { ConfigurationError, isAuthError } from '../../protocol/errors.ts'
import { requirePositive } from '../../protocol/settings.ts'
import { type PostgresConnector, postgresConnector } from './connector.ts'

/** What {@link openPostgres} takes. */
export interface PostgresOptions {
  /** Connections besides the three that lookups and the feed have. @default 10 */
  readonly poolSize?: number
  /** How long a lookup of Step 2 may take before it is 503 and its connection is replaced, in milliseconds. @default 2_000 */
  readonly lookupTimeoutMs?: number
  /** How long any other statement may take, in milliseconds. @default 5_000 */
  readonly statementTimeoutMs?: number
  /** How long an attempt to connect may take, in milliseconds. @default 2_000 */
  readonly connectTimeoutMs?: number
}

/** A timer that is set to more fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * What makes the connections of a node.
 *
 * @throws ConfigurationError when the URL names no PostgreSQL database, or an option cannot work
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
    requirePositive(name, value, LONGEST_TIMER_MS)
  const lookupTimeoutMs = milliseconds('lookupTimeoutMs', options.lookupTimeoutMs ?? 2_000)
  const statementTimeoutMs = milliseconds('statementTimeoutMs', options.statementTimeoutMs ?? 5_000)
  const connector = postgresConnector({
    config: {
      connectionString: url,
      statement_timeout: statementTimeoutMs,
      // Where the server cannot keep that promise any more, such as one that has been stopped.
      query_timeout: Math.min(statementTimeoutMs + 1_000, LONGEST_TIMER_MS),
      keepAlive: true,
    },
    poolSize: requirePositive('poolSize', options.poolSize ?? 10),
    connectTimeoutMs: milliseconds('connectTimeoutMs', options.connectTimeoutMs ?? 2_000),
  })
  return { connector, lookupTimeoutMs }
}

/** A late statement is answered with 503 like one to any other database that is gone. */
export async function endPostgres({ pool }: PostgresConnector): Promise<void> {
  if (!pool.ended && !pool.ending) await pool.end()
}

/** While a program starts, what is wrong underneath is what has to be told. */
export function causeOf(error: unknown): unknown {
  return isAuthError(error) && error.cause !== undefined ? error.cause : error
}

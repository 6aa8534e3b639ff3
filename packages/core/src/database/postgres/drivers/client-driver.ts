import type { StoreMeter } from '../../../events/telemetry.ts'
import { ConfigurationError } from '../../../protocol/errors.ts'
import { MAX_TIMER_MS } from '../../../protocol/settings.ts'
import { borrowed } from './borrowed.ts'
import type { PgPool, PostgresClient, PostgresHttpClient } from './clients.ts'
import type { PostgresDriver } from './driver.ts'
import { neonHttpDriver } from './neon-http-driver.ts'
import { pgPoolDriver } from './pg-driver.ts'
import { pgliteDriver } from './pglite-driver.ts'
import { postgresJsDriver } from './postgres-js-driver.ts'
import { checkPrimary } from './primary.ts'

export interface ClientSettings {
  readonly statementTimeoutMs: number
  readonly meter: StoreMeter
}

/** Recognizes a client by its shape. @throws ConfigurationError if it is unknown */
export function driverOf(
  client: PostgresClient | PostgresHttpClient,
  { statementTimeoutMs, meter }: ClientSettings,
): PostgresDriver {
  // A server that was stopped can't enforce the timeout of the app's connections.
  const options = { timeoutMs: Math.min(statementTimeoutMs + 1_000, MAX_TIMER_MS) }
  if ('totalCount' in client && 'connect' in client)
    return borrowed(poolDriver(client, { ...options, meter }))
  if ('unsafe' in client && 'listen' in client) return borrowed(postgresJsDriver(client, options))
  if ('transaction' in client && 'listen' in client) return borrowed(pgliteDriver(client, options))
  if ('transaction' in client && 'query' in client) return borrowed(neonHttpDriver(client, options))
  throw new ConfigurationError(
    'pool is not a supported client. Pass a Pool of pg or @neondatabase/serverless, the sql of postgres, a PGlite, or a URL.',
  )
}

function poolDriver(
  pool: PgPool,
  options: { timeoutMs: number; meter: StoreMeter },
): Omit<PostgresDriver, 'close'> {
  const { listen, ...driver } = pgPoolDriver(pool, { ...options, prepare: checkPrimary })
  // Listening would hold the only connection.
  return pool.options?.max === 1 ? driver : { ...driver, listen }
}

import type { PostgresOptions } from '@sallyport/core/postgres'
import { afterAll } from 'vitest'
import { type PostgresServer, startPostgres } from './embedded-postgres.ts'

export type { PostgresServer } from './embedded-postgres.ts'

/** Options for tests that are not about timeouts. A busy machine may reach the defaults. */
export const PATIENT = {
  lookupTimeoutMs: 20_000,
  connectTimeoutMs: 20_000,
} as const satisfies PostgresOptions
/** The same for a configuration. */
export const PATIENT_SESSION = { lookupTimeoutMs: PATIENT.lookupTimeoutMs }

/**
 * Starts a PostgreSQL server that is removed after the tests of the file.
 *
 * @param settings of `postgresql.conf`
 * @example const postgres = await testPostgres()
 * const database = await openPostgres(await postgres.createDatabase('app'))
 */
export async function testPostgres(settings?: Readonly<Record<string, string>>): Promise<PostgresServer> {
  const starting = startPostgres(settings)
  afterAll(async () => {
    const server = await starting.catch(() => null)
    await server?.stop()
  })
  return starting
}

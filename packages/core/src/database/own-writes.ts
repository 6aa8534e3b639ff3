import { randomUUID } from 'node:crypto'
import { ConfigurationError } from '../protocol/errors.ts'
import type { AuthKysely } from './schema/kysely-tables.ts'

const KEPT_MS = 60_000

interface Lookups {
  /** Runs a statement as lookups do, and returns its rows. */
  readonly read: (statement: string, values: readonly unknown[]) => Promise<readonly unknown[]>
  /** What to change about the connection. */
  readonly fix: string
}

/**
 * Writes a row and reads it as Step 2 reads.
 * @throws ConfigurationError if the row isn't found, since Step 2 wouldn't see revocations either
 */
export async function requireOwnWrites(db: AuthKysely, { read, fix }: Lookups): Promise<void> {
  const key = `probe:${randomUUID()}`
  await db
    .insertInto('sallyport.rate_limit')
    .values({ key, points: 0, expire: Date.now() + KEPT_MS })
    .execute()
  const { sql, parameters } = db
    .selectFrom('sallyport.rate_limit')
    .select('key')
    .where('key', '=', key)
    .compile()
  const rows = await read(sql, parameters)
  // It expires if this fails.
  await db
    .deleteFrom('sallyport.rate_limit')
    .where('key', '=', key)
    .execute()
    .catch(() => {})
  if (rows.length > 0) return
  throw new ConfigurationError(
    `Lookups did not find a row that was just written, so they would accept revoked sessions. ${fix}`,
  )
}

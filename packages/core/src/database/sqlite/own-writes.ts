import { ConfigurationError } from '../../protocol/errors.ts'
import { prefixed } from '../internal-tables.ts'
import type { AuthKysely } from '../schema.ts'
import type { SqliteDriver } from './driver.ts'

/**
 * Writes a row and reads it as Step 2 reads.
 * @throws ConfigurationError if the row isn't found, since Step 2 wouldn't see revocations either
 */
export async function requireOwnWrites(db: AuthKysely, driver: SqliteDriver): Promise<void> {
  const key = `probe:${crypto.randomUUID()}`
  await db.insertInto('sallyport.rate_limit').values({ key, points: 0, expire: 0 }).execute()
  const rows = await driver.read(`select key from ${prefixed('rate_limit')} where key = ?`, [key])
  await db.deleteFrom('sallyport.rate_limit').where('key', '=', key).execute()
  if (rows.length > 0) return
  throw new ConfigurationError(
    "The client doesn't read what it has written, so it would accept revoked sessions. Pass a client for the server.",
  )
}

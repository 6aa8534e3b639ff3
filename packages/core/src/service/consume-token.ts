import type { AuthKysely } from '../database/schema.ts'
import type { ServiceClaims } from './service-token.ts'

/** How long a row outlives its token: the clock of another node may be minutes behind. */
const RETENTION_MS = 10 * 60 * 1000

/**
 * Consumes a service JWT, for every node that shares the database and across restarts.
 *
 * @returns false if it was consumed before
 * @throws AuthError `SESSIONS_UNAVAILABLE` if the database doesn't answer
 */
export async function consumeToken(
  db: AuthKysely,
  { service, id, expiresAt }: Pick<ServiceClaims, 'service' | 'id' | 'expiresAt'>,
): Promise<boolean> {
  // One service must not be able to consume a token of another.
  const row = { id: JSON.stringify([service, id]), expiresAt: new Date(expiresAt.getTime() + RETENTION_MS) }
  const consumed = await db
    .insertInto('serviceToken')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  return consumed !== undefined
}

import type { AuthKysely } from '../database/schema.ts'
import type { ServiceClaims } from './service-token.ts'

/** A row outlives its token by so long: the clock of another node may be behind by minutes. */
const KEPT_MS = 10 * 60 * 1000

/**
 * Uses a service JWT up, on every node that shares the database and beyond any restart.
 *
 * @returns false when it had been used before
 * @throws AuthError `SESSIONS_UNAVAILABLE` when that cannot be told
 */
export async function burnToken(
  db: AuthKysely,
  { service, id, expiresAt }: Pick<ServiceClaims, 'service' | 'id' | 'expiresAt'>,
): Promise<boolean> {
  // One service must not be able to use up a token of another.
  const row = { id: JSON.stringify([service, id]), expiresAt: new Date(expiresAt.getTime() + KEPT_MS) }
  const burned = await db
    .insertInto('serviceToken')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  return burned !== undefined
}

import type { AuthTransaction } from '../database/session-database.ts'
import type { EndpointContext } from '../endpoints/endpoint.ts'
import { reject } from '../protocol/endpoint-error.ts'

/**
 * Rejects a change that removed the last way in of a user. Call it in the change, which has locked the user.
 * @throws EndpointError `LAST_WAY_IN`
 */
export async function requireWayIn(
  userId: string,
  trx: AuthTransaction,
  { waysIn }: EndpointContext,
): Promise<void> {
  for (const canSignIn of waysIn) if (await canSignIn(userId, trx)) return
  throw reject('LAST_WAY_IN')
}

import type { AuthTransaction } from '../database/auth-transaction.ts'

/**
 * Locks users until the end of the transaction, in the order of their ids. Whatever ends sessions does so first, and whoever is about to
 * write on behalf of a session too: the row of the user, then that of the session. So neither waits for the other in a circle. In
 * SQLite a transaction has the whole file to itself.
 *
 * @returns the ids of those who are there
 */
export async function lockUsers(trx: AuthTransaction, userIds: readonly string[]): Promise<string[]> {
  if (userIds.length === 0) return []
  const users = await trx
    .selectFrom('user')
    .select('id')
    .where('id', 'in', userIds)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  return users.map(({ id }) => id)
}

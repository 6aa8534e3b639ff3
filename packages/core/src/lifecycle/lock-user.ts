import type { AuthTransaction } from '../database/session-database.ts'

/**
 * Locks users in the order of their ids until the transaction ends, and returns the ids that exist. Every
 * change locks the user's row before a session's row, so two changes never deadlock.
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

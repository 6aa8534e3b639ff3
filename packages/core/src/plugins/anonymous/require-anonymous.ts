import type { AuthTransaction } from '../../database/session-database.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { anonymousError } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** Locks a user. @throws EndpointError `NOT_ANONYMOUS` if they have a way to sign in */
export async function requireAnonymous(userId: string, trx: AuthTransaction): Promise<void> {
  await lockUsers(trx, [userId])
  const query = withOwnTables(trx).selectFrom('user').select('isAnonymous').where('id', '=', userId)
  if (!(await query.executeTakeFirst())?.isAnonymous) throw anonymousError('NOT_ANONYMOUS')
}

import type { AuthTransaction } from '../../database/session-database.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { hasPassword } from '../email-password/accounts.ts'
import { anonymousError } from './settings.ts'
import { withOwnTables } from './tables.ts'

/**
 * Locks a user. @throws EndpointError `NOT_ANONYMOUS` if they have a way to sign in, or a password that
 * `requireVerified` doesn't accept yet, but which proves who they are
 */
export async function requireAnonymous(userId: string, trx: AuthTransaction): Promise<void> {
  await lockUsers(trx, [userId])
  const query = withOwnTables(trx).selectFrom('user').select('isAnonymous').where('id', '=', userId)
  const isAnonymous = Boolean((await query.executeTakeFirst())?.isAnonymous)
  if (!isAnonymous || (await hasPassword(userId, trx))) throw anonymousError('NOT_ANONYMOUS')
}

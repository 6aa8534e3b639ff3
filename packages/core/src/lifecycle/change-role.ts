import type { AuthTransaction, RecordEvent } from '../database/session-database.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { lockUser } from './locked-sessions.ts'

interface RoleChange {
  readonly userId: string
  readonly role: string
  readonly actorId: string
  readonly at: Date
}

/** Gives a user a role inside a transaction. @throws EndpointError `USER_NOT_FOUND` */
export async function changeRole(
  trx: AuthTransaction,
  record: RecordEvent,
  { userId, role, actorId, at }: RoleChange,
): Promise<void> {
  const user = await lockUser(trx, userId)
  if (user === undefined) throw reject('USER_NOT_FOUND')
  if (user.role === role) return
  await trx.updateTable('user').set({ role, updatedAt: at }).where('id', '=', userId).execute()
  record({ type: 'user.role-changed', userId, from: user.role, to: role, actorId, at })
}

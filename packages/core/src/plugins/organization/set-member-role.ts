import * as z from 'zod'
import { type AuthTransaction, defineEndpoint, type Endpoint } from '../../auth.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { requireOtherOwner, requireRoleOf } from './member.ts'
import { lockMembership, type MembershipKey, requireManager } from './membership.ts'
import { done, id } from './plain-schemas.ts'
import { mayManage, OWNER, roleSchema } from './roles.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** What `POST /organization/set-member-role` takes. */
export interface SetMemberRoleInput {
  organizationId: string
  userId: string
  role: string
}

/** Gives a member another role. It counts from the next call of their sessions, which every Step 2 reads. */
export function setMemberRole({ roles }: Settings): Endpoint<SetMemberRoleInput, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.setMemberRole,
    caller: 'user',
    input: z.strictObject({ organizationId: id, userId: id, role: roleSchema(roles) }),
    output: done,
    async run({ organizationId, userId, role }, context) {
      const callerId = context.identity.userId
      const at = context.config.now()
      await context.change(async (trx, record) => {
        const caller = await lockMembership(trx, { organizationId, userId: callerId, others: [userId] })
        // A member learns nothing of who else there is that the list of members does not say.
        const former = await requireRoleOf(trx, { organizationId, userId })
        requireManager(caller.role, former, context)
        requireManager(caller.role, role, context)
        if (former === role) return
        if (former === OWNER) await requireOtherOwner(trx, { organizationId, userId }, at)
        await withOwnTables(trx)
          .updateTable('member')
          .set({ role })
          .where('organizationId', '=', organizationId)
          .where('userId', '=', userId)
          .execute()
        await forgetInvitations(trx, { organizationId, userId, role, roles })
        const actorId = userId === callerId ? null : callerId
        const detail = { organizationId, role }
        record({ type: 'organization:role-changed', userId, actorId, at, detail })
      })
      return { body: { success: true } }
    },
  })
}

/** Whoever may no longer give a role has given it to nobody who has not accepted yet. */
async function forgetInvitations(
  trx: AuthTransaction,
  {
    organizationId,
    userId,
    role,
    roles,
  }: MembershipKey & { readonly role: string; readonly roles: readonly string[] },
): Promise<void> {
  let invitations = withOwnTables(trx)
    .deleteFrom('invitation')
    .where('organizationId', '=', organizationId)
    .where('inviterId', '=', userId)
  const givable = roles.filter((other) => mayManage(role, other))
  if (givable.length > 0) invitations = invitations.where('role', 'not in', givable)
  await invitations.execute()
}

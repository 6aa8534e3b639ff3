import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../auth.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { requireOtherOwner, requireRoleOf } from './member.ts'
import { lockMembership, requireManager } from './membership.ts'
import { done, id } from './plain-schemas.ts'
import { OWNER } from './roles.ts'
import { withOwnTables } from './tables.ts'

/** What `POST /organization/remove-member` takes. */
export interface RemoveMemberInput {
  organizationId: string
  /** The caller's own to leave. */
  userId: string
}

/** Ends a membership. The invitations of whoever is removed no longer count, and their sessions work in no organization. */
export const removeMember: Endpoint<RemoveMemberInput, SuccessResponse, false> = defineEndpoint({
  ...ENDPOINTS.removeMember,
  caller: 'user',
  input: z.strictObject({ organizationId: id, userId: id }),
  output: done,
  async run({ organizationId, userId }, context) {
    const callerId = context.identity.userId
    const isOwn = userId === callerId
    const at = context.config.now()
    await context.change(async (trx, record) => {
      const caller = await lockMembership(trx, { organizationId, userId: callerId, others: [userId] })
      const role = await requireRoleOf(trx, { organizationId, userId })
      if (!isOwn) requireManager(caller.role, role, context)
      if (role === OWNER) await requireOtherOwner(trx, { organizationId, userId }, at)
      await withOwnTables(trx)
        .deleteFrom('member')
        .where('organizationId', '=', organizationId)
        .where('userId', '=', userId)
        .execute()
      const detail = { organizationId }
      const actorId = isOwn ? null : callerId
      record({ type: 'organization:member-removed', userId, actorId, at, detail })
    })
    return { body: { success: true } }
  },
})

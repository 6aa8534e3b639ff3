import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../auth.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { lockMembership, requireManager } from './membership.ts'
import { done, id } from './plain-schemas.ts'
import { refuseOrganization } from './reasons.ts'
import { withOwnTables } from './tables.ts'

/** What `POST /organization/cancel-invitation` takes. */
export interface CancelInvitationInput {
  organizationId: string
  invitationId: string
}

/** Withdraws an invitation. */
export const cancelInvitation: Endpoint<CancelInvitationInput, SuccessResponse, false> = defineEndpoint({
  ...ENDPOINTS.cancelInvitation,
  caller: 'user',
  input: z.strictObject({ organizationId: id, invitationId: id }),
  output: done,
  async run({ organizationId, invitationId }, context) {
    const { userId } = context.identity
    const at = context.config.now()
    await context.change(async (trx, record) => {
      const { role } = await lockMembership(trx, { organizationId, userId })
      requireManager(role, 'member', context)
      const canceled = await withOwnTables(trx)
        .deleteFrom('invitation')
        .where('id', '=', invitationId)
        .where('organizationId', '=', organizationId)
        .returning('role')
        .executeTakeFirst()
      if (canceled === undefined) throw refuseOrganization('INVITATION_NOT_FOUND')
      requireManager(role, canceled.role, context)
      const detail = { organizationId, invitationId }
      record({ type: 'organization:invitation-canceled', userId: null, actorId: userId, at, detail })
    })
    return { body: { success: true } }
  },
})

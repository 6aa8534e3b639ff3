import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../auth.ts'
import { ENDPOINTS, type InvitationResponse } from '../../protocol.ts'
import { findMembership, requireManager } from './membership.ts'
import { isAfter, type OrganizationPageInput, pageInput, toPage } from './page.ts'
import { invitationAnswer, toIso } from './plain-schemas.ts'
import { withOwnTables } from './tables.ts'

/** A page of invitations, the oldest first. */
export interface ListInvitationsOutput {
  invitations: InvitationResponse[]
  /** Null on the last page. */
  nextCursor: string | null
}

/** The invitations of an organization that are still open, for whoever may invite. */
export const listInvitations: Endpoint<OrganizationPageInput, ListInvitationsOutput, false> = defineEndpoint({
  ...ENDPOINTS.listInvitations,
  caller: 'user',
  input: pageInput,
  output: z.object({ invitations: z.array(invitationAnswer), nextCursor: z.string().nullable() }),
  async run({ organizationId, limit = 50, cursor }, context) {
    const { identity, config, database } = context
    const { role } = await findMembership(database.db, { organizationId, userId: identity.userId })
    requireManager(role, 'member', context)
    const rows = await withOwnTables(database.db)
      .selectFrom('invitation')
      .where('organizationId', '=', organizationId)
      .where('expiresAt', '>', config.now())
      .where(isAfter('invitation', cursor))
      .select(['id', 'email', 'role', 'inviterId', 'createdAt', 'expiresAt'])
      .orderBy('createdAt')
      .orderBy('id')
      .limit(limit + 1)
      .execute()
    const { page, nextCursor } = toPage(rows, limit)
    const invitations = page.map((row) => ({
      ...row,
      createdAt: toIso(row.createdAt),
      expiresAt: toIso(row.expiresAt),
    }))
    return { body: { invitations, nextCursor } }
  },
})

import type { DeleteQueryBuilder } from 'kysely'
import * as z from 'zod/mini'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done, id } from '../../endpoints/plain-schemas.ts'
import { ENDPOINTS, type InvitationResponse, type SuccessResponse } from '../../protocol.ts'
import { readDate } from '../../session/read-date.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { toIso } from '../../session/session-row.ts'
import { emailAddress } from '../internal.ts'
import { type PageOutput, readPage } from '../pagination.ts'
import { findMembership, findRole, lockMembership, mayManage, requireManager } from './membership.ts'
import { invitationResponse, type OrganizationPageInput, pageInput, roleSchema } from './plain-schemas.ts'
import { organizationError, type Settings } from './settings.ts'
import { type OrganizationTables, withOwnTables } from './tables.ts'

export type InviteMemberInput = { organizationId: string; email: string; role: string }

/** Invites an email address, in place of a pending invitation to it. Doesn't reveal if it has an account. */
export function inviteMember(
  settings: Settings,
): Endpoint<InviteMemberInput, { invitation: InvitationResponse }, false> {
  const { deliverInvitation, roles, limits, invitationExpiresInSeconds } = settings
  return defineEndpoint({
    ...ENDPOINTS.inviteMember,
    caller: 'user',
    input: z.strictObject({ organizationId: id, email: emailAddress, role: roleSchema(roles) }),
    output: z.object({ invitation: invitationResponse }),
    async run({ organizationId, email, role }, context) {
      if (deliverInvitation === undefined) throw organizationError('INVITATIONS_UNAVAILABLE')
      const { session, config, limit, change, later, database } = context
      const { userId } = session
      await limit(`organization:invite:${userId}`, limits.invitations)
      const ownRole = await findRole(database.db, { organizationId, userId })
      // Only for callers who may invite: others must not use up the invitations to an address.
      if (ownRole !== null && mayManage(ownRole, role)) {
        const recipient = await hashSecret(email)
        // One user could otherwise use up the overall limit, with many organizations.
        await limit(`organization:recipient:by:${userId}:${recipient}`, limits.recipient)
        await limit(`organization:recipient:${organizationId}:${recipient}`, limits.recipient)
        await limit(`organization:recipient:${recipient}`, limits.recipientOverall)
      }

      const createdAt = config.now()
      const expiresAt = new Date(createdAt.getTime() + invitationExpiresInSeconds * 1000)
      // It exists only in what the app delivers. The table has its hash.
      const token = createSecret()
      const invitation = { id: crypto.randomUUID(), email, role, createdAt, expiresAt }
      const row = { ...invitation, organizationId, token: await hashSecret(token) }
      const { name, slug } = await change(async (trx, record) => {
        const organization = await lockMembership(trx, { organizationId, userId })
        requireManager(organization.role, role, context)
        await rejectMember(trx, organizationId, email)
        const invited = withOwnTables(trx).deleteFrom('invitation').where('email', '=', email)
        const former = invited.where('organizationId', '=', organizationId)
        // Only owners may replace a pending invitation to become an owner.
        for (const { role } of await endInvitations(former, record, { actorId: userId, at: createdAt }))
          requireManager(organization.role, role, context)
        const values = { ...row, memberId: organization.memberId }
        await withOwnTables(trx).insertInto('invitation').values(values).execute()
        const detail = { organizationId, invitationId: row.id, role }
        const created = { userId: null, actorId: userId, at: createdAt, detail }
        record({ type: 'organization:invitation-created', ...created })
        return organization
      })
      const inviter = { id: userId, name: session.user.name, email: session.user.email }
      const organization = { id: organizationId, name, slug }
      later(() => deliverInvitation({ email, token, role, expiresAt, organization, inviter }))
      const moments = { createdAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() }
      return { body: { invitation: { ...invitation, inviterId: userId, ...moments } } }
    },
  })
}

/** Runs a deletion of invitations, and records those that were pending. Returns them. */
export async function endInvitations(
  deletion: DeleteQueryBuilder<OrganizationTables, 'invitation', object>,
  record: RecordEvent,
  { actorId, at }: { actorId: string; at: Date },
): Promise<{ role: string }[]> {
  const ended = await deletion.returning(['id', 'organizationId', 'role', 'expiresAt']).execute()
  const pending = ended.filter(({ expiresAt }) => readDate(expiresAt) > at)
  for (const { id: invitationId, organizationId } of pending) {
    const detail = { organizationId, invitationId }
    record({ type: 'organization:invitation-canceled', userId: null, actorId, at, detail })
  }
  return pending
}

/** The inviter can list the members, so the rejection reveals nothing. */
async function rejectMember(trx: AuthTransaction, organizationId: string, email: string): Promise<void> {
  const member = await withOwnTables(trx)
    .selectFrom('member')
    .innerJoin('user', 'user.id', 'member.userId')
    .where(({ and }) => and({ organizationId, 'user.email': email }))
    .select('userId')
    .executeTakeFirst()
  if (member !== undefined) throw organizationError('ALREADY_MEMBER')
}

/** A page of invitations, the oldest first. */
export interface ListInvitationsOutput extends PageOutput {
  invitations: InvitationResponse[]
}

/** Lists an organization's pending invitations. Only members who may invite can call it. */
export const listInvitations: Endpoint<OrganizationPageInput, ListInvitationsOutput, false> = defineEndpoint({
  ...ENDPOINTS.listInvitations,
  caller: 'user',
  input: pageInput,
  output: z.object({ invitations: z.array(invitationResponse), nextCursor: z.nullable(z.string()) }),
  async run({ organizationId, ...input }, context) {
    const { identity, config, database } = context
    const { role } = await findMembership(database.db, { organizationId, userId: identity.userId })
    requireManager(role, 'member', context)
    const query = withOwnTables(database.db)
      .selectFrom('invitation')
      .innerJoin('member', 'member.id', 'invitation.memberId')
      .where('invitation.organizationId', '=', organizationId)
      .where('expiresAt', '>', config.now())
      .select(['invitation.id', 'email', 'invitation.role', 'userId as inviterId'])
      .select(['invitation.createdAt', 'expiresAt'])
    const { page, nextCursor } = await readPage(query, { table: 'invitation', order: 'asc', ...input })
    const invitations = page.map((row) => ({
      ...row,
      createdAt: toIso(row.createdAt),
      expiresAt: toIso(row.expiresAt),
    }))
    return { body: { invitations, nextCursor } }
  },
})

export type CancelInvitationInput = { organizationId: string; invitationId: string }

/** Withdraws a pending invitation. */
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
      const deletion = withOwnTables(trx).deleteFrom('invitation').where('id', '=', invitationId)
      const ofOrganization = deletion.where('organizationId', '=', organizationId)
      const canceled = await ofOrganization.returning('role').executeTakeFirst()
      if (canceled === undefined) throw organizationError('INVITATION_NOT_FOUND')
      requireManager(role, canceled.role, context)
      const detail = { organizationId, invitationId }
      record({ type: 'organization:invitation-canceled', userId: null, actorId: userId, at, detail })
    })
    return { body: { success: true } }
  },
})

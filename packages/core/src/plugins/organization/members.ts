import * as z from 'zod/mini'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done, id } from '../../endpoints/plain-schemas.ts'
import { ENDPOINTS, type MemberResponse, type SuccessResponse } from '../../protocol.ts'
import { toIso } from '../../session/session-row.ts'
import { type PageOutput, readPage } from '../pagination.ts'
import { endInvitations } from './invitations.ts'
import {
  findInvitedEmail,
  findMembership,
  lockMembership,
  lockOrganizations,
  mayManage,
  OWNER,
  requireManager,
  requireMember,
  requireOtherOwner,
} from './membership.ts'
import { memberResponse, type OrganizationPageInput, pageInput, roleSchema } from './plain-schemas.ts'
import { CHANGES, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** A page of members, the oldest first. */
export interface ListMembersOutput extends PageOutput {
  members: MemberResponse[]
}

/** Lists an organization's members. Any member may call it. */
export const listMembers: Endpoint<OrganizationPageInput, ListMembersOutput, false> = defineEndpoint({
  ...ENDPOINTS.listMembers,
  caller: 'user',
  input: pageInput,
  output: z.object({ members: z.array(memberResponse), nextCursor: z.nullable(z.string()) }),
  async run({ organizationId, ...input }, { identity: { userId }, database: { db } }) {
    await findMembership(db, { organizationId, userId })
    const query = withOwnTables(db)
      .selectFrom('member')
      .innerJoin('user', 'user.id', 'member.userId')
      .where('member.organizationId', '=', organizationId)
      .select(['member.id', 'userId', 'name', 'email', 'image', 'member.role', 'member.createdAt'])
    const { page, nextCursor } = await readPage(query, { table: 'member', order: 'asc', ...input })
    const members = page.map((row) => ({ ...row, createdAt: toIso(row.createdAt) }))
    return { body: { members, nextCursor } }
  },
})

export type SetMemberRoleInput = { organizationId: string; userId: string; role: string }

/** Gives a member another role, effective from the next call of their sessions. */
export function setMemberRole({ roles }: Settings): Endpoint<SetMemberRoleInput, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.setMemberRole,
    caller: 'user',
    input: z.strictObject({ organizationId: id, userId: id, role: roleSchema(roles) }),
    output: done,
    async run({ organizationId, userId, role }, context) {
      const callerId = context.identity.userId
      await context.limit(`organization:change:${callerId}`, CHANGES)
      const at = context.config.now()
      await context.change(async (trx, record) => {
        const caller = await lockMembership(trx, { organizationId, userId: callerId, others: [userId] })
        // Before the caller's role: any member can list the members, so this reveals nothing.
        const member = await requireMember(trx, { organizationId, userId })
        requireManager(caller.role, member.role, context)
        requireManager(caller.role, role, context)
        if (member.role === role) return
        if (member.role === OWNER) await requireOtherOwner(trx, { organizationId, userId }, at)
        const db = withOwnTables(trx)
        await db.updateTable('member').set({ role }).where('id', '=', member.id).execute()
        // Invitations to roles that the member can no longer give.
        const grantable = roles.filter((other) => mayManage(role, other))
        const invalid = db
          .deleteFrom('invitation')
          .where('memberId', '=', member.id)
          .$if(grantable.length > 0, (invitations) => invitations.where('role', 'not in', grantable))
        await endInvitations(invalid, record, { actorId: callerId, at })
        const actorId = userId === callerId ? null : callerId
        const detail = { organizationId, from: member.role, role }
        record({ type: 'organization:role-changed', userId, actorId, at, detail })
      })
      return { body: { success: true } }
    },
  })
}

/** With the caller's `userId`, they leave. */
export type RemoveMemberInput = { organizationId: string; userId: string }

/**
 * Ends a membership, with the invitations that the member sent, and those to a removed member that the caller
 * may cancel. Their sessions leave the organization.
 */
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
      const { id: memberId, role } = await requireMember(trx, { organizationId, userId })
      if (!isOwn) requireManager(caller.role, role, context)
      if (role === OWNER) await requireOtherOwner(trx, { organizationId, userId }, at)
      const db = withOwnTables(trx)
      const sent = db.deleteFrom('invitation').where('memberId', '=', memberId)
      await endInvitations(sent, record, { actorId: callerId, at })
      // Otherwise, a removed member who has changed their email could come back.
      const email = isOwn ? undefined : await findInvitedEmail(trx, userId)
      if (email !== undefined) {
        const received = db.deleteFrom('invitation').where(({ and }) => and({ organizationId, email }))
        const managed = received.$if(caller.role !== OWNER, (some) => some.where('role', '!=', OWNER))
        await endInvitations(managed, record, { actorId: callerId, at })
      }
      await db.deleteFrom('member').where('id', '=', memberId).execute()
      const detail = { organizationId }
      const actorId = isOwn ? null : callerId
      record({ type: 'organization:member-removed', userId, actorId, at, detail })
    })
    return { body: { success: true } }
  },
})

/** Ends a user's memberships, and deletes organizations left empty. @throws EndpointError `OWNER_NEEDED` */
export async function leaveOrganizations(
  trx: AuthTransaction,
  record: RecordEvent,
  { userId, actorId, at }: { userId: string; actorId: string | null; at: Date },
): Promise<void> {
  const db = withOwnTables(trx)
  // The user is locked, so their memberships can't change meanwhile.
  const memberships = db.selectFrom('member').select(['id', 'organizationId', 'role'])
  const own = await memberships.where('userId', '=', userId).execute()
  if (own.length === 0) return
  const organizationIds = own.map(({ organizationId }) => organizationId)
  await lockOrganizations(trx, organizationIds)
  const ofOthers = db.selectFrom('member').select('organizationId').distinct().where('userId', '!=', userId)
  const others = await ofOthers.where('organizationId', 'in', organizationIds).execute()
  const shared = new Set(others.map(({ organizationId }) => organizationId))
  for (const { id: memberId, organizationId, role } of own) {
    // Otherwise, it is deleted with all its invitations.
    if (!shared.has(organizationId)) continue
    if (role === OWNER) await requireOtherOwner(trx, { organizationId, userId }, at)
    const sent = db.deleteFrom('invitation').where('memberId', '=', memberId)
    await endInvitations(sent, record, { actorId: actorId ?? userId, at })
  }
  await db.deleteFrom('member').where('userId', '=', userId).execute()
  for (const { organizationId } of own) {
    const detail = { organizationId }
    record({ type: 'organization:member-removed', userId, actorId, at, detail })
    if (shared.has(organizationId)) continue
    await db.deleteFrom('organization').where('id', '=', organizationId).execute()
    record({ type: 'organization:deleted', userId: null, actorId: actorId ?? userId, at, detail })
  }
}

import * as z from 'zod'
import { type AuthTransaction, defineEndpoint, type Endpoint, type RecordEvent } from '../../auth.ts'
import { isBanned } from '../../index.ts'
import { ENDPOINTS, type MemberResponse, type SuccessResponse } from '../../protocol.ts'
import { isAfter, toPage } from '../pagination.ts'
import {
  findMembership,
  lockMembership,
  lockOrganizations,
  type MembershipKey,
  requireManager,
  requireOtherOwner,
  requireRoleOf,
} from './membership.ts'
import { done, id, memberAnswer, type OrganizationPageInput, pageInput, toIso } from './plain-schemas.ts'
import { refuseOrganization } from './reasons.ts'
import { mayManage, OWNER, roleSchema } from './roles.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** A page of members, the oldest first. */
export interface ListMembersOutput {
  members: MemberResponse[]
  /** Null on the last page. */
  nextCursor: string | null
}

/** The members of an organization, for each of them. */
export const listMembers: Endpoint<OrganizationPageInput, ListMembersOutput, false> = defineEndpoint({
  ...ENDPOINTS.listMembers,
  caller: 'user',
  input: pageInput,
  output: z.object({ members: z.array(memberAnswer), nextCursor: z.string().nullable() }),
  async run({ organizationId, limit = 50, cursor }, { identity: { userId }, database: { db } }) {
    await findMembership(db, { organizationId, userId })
    const rows = await withOwnTables(db)
      .selectFrom('member')
      .innerJoin('user', 'user.id', 'member.userId')
      .where('member.organizationId', '=', organizationId)
      .where(isAfter({ table: 'member', order: 'asc', cursor }))
      .select(['member.id', 'userId', 'name', 'email', 'image', 'member.role', 'member.createdAt'])
      .orderBy('member.createdAt')
      .orderBy('member.id')
      .limit(limit + 1)
      .execute()
    const { page, nextCursor } = toPage(rows, limit)
    const members = page.map((row) => ({ ...row, createdAt: toIso(row.createdAt) }))
    return { body: { members, nextCursor } }
  },
})

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

/**
 * Ends the memberships of a user who is being deleted. An organization that they are the only member of goes with them.
 *
 * @throws EndpointError `OWNER_NEEDED` where others would be left in one without an owner; then the user stays
 */
export async function leaveOrganizations(
  trx: AuthTransaction,
  record: RecordEvent,
  { userId, at }: { userId: string; at: Date },
): Promise<void> {
  const db = withOwnTables(trx)
  // The user is locked: nobody else changes what they are a member of.
  const own = await db
    .selectFrom('member')
    .select(['organizationId', 'role'])
    .where('userId', '=', userId)
    .execute()
  if (own.length === 0) return
  const organizationIds = own.map(({ organizationId }) => organizationId)
  await lockOrganizations(trx, organizationIds)
  const left = await rolesOfOthers(trx, { userId, organizationIds, now: at })
  for (const { organizationId, role } of own) {
    const others = left.get(organizationId)
    if (others !== undefined && role === OWNER && !others.has(OWNER)) throw refuseOrganization('OWNER_NEEDED')
  }
  await db.deleteFrom('member').where('userId', '=', userId).execute()
  for (const { organizationId } of own) {
    const detail = { organizationId }
    record({ type: 'organization:member-removed', userId, actorId: null, at, detail })
    if (left.has(organizationId)) continue
    await db.deleteFrom('organization').where('id', '=', organizationId).execute()
    record({ type: 'organization:deleted', userId: null, actorId: userId, at, detail })
  }
}

/** What there is in each organization besides a user; organizations without anyone else are left out. A banned owner is as good as none. */
async function rolesOfOthers(
  trx: AuthTransaction,
  { userId, organizationIds, now }: { userId: string; organizationIds: readonly string[]; now: Date },
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const roles = new Map<string, Set<string>>()
  const rows = await withOwnTables(trx)
    .selectFrom('member')
    .innerJoin('user', 'user.id', 'member.userId')
    .select(['organizationId', 'member.role', 'user.banned', 'user.banExpires'])
    .distinct()
    .where('organizationId', 'in', organizationIds)
    .where('userId', '!=', userId)
    .execute()
  for (const { organizationId, role, banned, banExpires } of rows) {
    const of = roles.get(organizationId) ?? new Set()
    const ban = { banned: Boolean(banned), banExpires: banExpires === null ? null : new Date(banExpires) }
    roles.set(organizationId, isBanned(ban, now) ? of : of.add(role))
  }
  return roles
}

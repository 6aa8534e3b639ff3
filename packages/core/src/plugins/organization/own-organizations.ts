import * as z from 'zod/mini'
import type { AuthTransaction } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { id, oneTimeToken } from '../../endpoints/plain-schemas.ts'
import { type ActiveOrganizationResponse, ENDPOINTS, type OrganizationResponse } from '../../protocol.ts'
import { hashSecret } from '../../session/secret.ts'
import { toIso } from '../../session/session-row.ts'
import {
  findInvitedEmail,
  findMembership,
  findRole,
  joinOrganization,
  lockOrganizations,
  mayManage,
  selectUnbanned,
} from './membership.ts'
import { organizationResponse } from './plain-schemas.ts'
import { CHANGES, organizationError, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** Lists the organizations of the caller by name. */
export const listOrganizations: Endpoint<object, { organizations: OrganizationResponse[] }, false> =
  defineEndpoint({
    ...ENDPOINTS.listOrganizations,
    caller: 'user',
    input: z.object({}),
    output: z.object({ organizations: z.array(organizationResponse) }),
    async run(_input, { identity: { userId }, database: { db } }) {
      const rows = await withOwnTables(db)
        .selectFrom('member')
        .innerJoin('organization', 'organization.id', 'member.organizationId')
        .where('member.userId', '=', userId)
        .select(['organization.id', 'name', 'slug', 'role', 'organization.createdAt'])
        .orderBy('name')
        .orderBy('organization.id')
        .execute()
      const organizations = rows.map((row) => ({ ...row, createdAt: toIso(row.createdAt) }))
      return { body: { organizations } }
    },
  })

/** Null for no organization. */
export type SetActiveOrganizationInput = { organizationId: string | null }

/** Sets the active organization of the caller's session. Their other sessions keep theirs. */
export const setActiveOrganization: Endpoint<SetActiveOrganizationInput, ActiveOrganizationResponse, false> =
  defineEndpoint({
    ...ENDPOINTS.setActiveOrganization,
    caller: 'user',
    input: z.strictObject({ organizationId: z.nullable(id) }),
    output: z.object({
      activeOrganizationId: z.nullable(z.string()),
      activeOrganizationRole: z.nullable(z.string()),
    }),
    async run({ organizationId }, { identity: { userId, sessionId }, config, limit, change }) {
      await limit(`organization:change:${userId}`, CHANGES)
      const at = config.now()
      return change(async (trx, record) => {
        const role = organizationId === null ? null : await findRole(trx, { organizationId, userId })
        if (organizationId !== null && role === null) throw organizationError('ORGANIZATION_NOT_FOUND')
        const { numUpdatedRows } = await withOwnTables(trx)
          .updateTable('session')
          .set({ activeOrganizationId: organizationId })
          .where('id', '=', sessionId)
          .where('activeOrganizationId', 'is distinct from', organizationId)
          .executeTakeFirst()
        const detail = { organizationId, sessionId }
        if (numUpdatedRows > 0n) record({ type: 'organization:activated', userId, actorId: null, at, detail })
        return { body: { activeOrganizationId: organizationId, activeOrganizationRole: role } }
      })
    },
  })

/** Makes a caller with the invited email a member. Activates the organization if the session has none. */
export function acceptInvitation(
  settings: Settings,
): Endpoint<{ token: string }, { organization: OrganizationResponse }, false> {
  const { limits, maxOrganizationsPerUser } = settings
  return defineEndpoint({
    ...ENDPOINTS.acceptInvitation,
    caller: 'user',
    input: z.strictObject({ token: oneTimeToken }),
    output: z.object({ organization: organizationResponse }),
    async run({ token }, { identity: { userId, sessionId }, config, limit, change }) {
      await limit(`organization:accept:${userId}`, limits.acceptances)
      const tokenHash = await hashSecret(token)
      const now = config.now()
      return change(async (trx, record) => {
        const invitation = await consumeInvitation(trx, { tokenHash, userId, now })
        const { id: invitationId, organizationId, role } = invitation
        const key = { organizationId, userId }
        if ((await findRole(trx, key)) !== null) throw organizationError('ALREADY_MEMBER')
        await joinOrganization(trx, { ...key, role, createdAt: now }, { sessionId, maxOrganizationsPerUser })
        const detail = { organizationId, role, invitationId }
        record({ type: 'organization:member-added', userId, actorId: null, at: now, detail })
        return { body: { organization: await findMembership(trx, key) } }
      })
    },
  })
}

type Acceptance = { tokenHash: string; userId: string; now: Date }

/** Deletes an invitation and locks its organization. */
async function consumeInvitation(trx: AuthTransaction, acceptance: Acceptance) {
  const { organizationId } = await findInvitation(trx, acceptance)
  await lockOrganizations(trx, [organizationId])
  // Meanwhile it may have been canceled or used.
  const invitation = await findInvitation(trx, acceptance)
  await withOwnTables(trx).deleteFrom('invitation').where('id', '=', invitation.id).execute()
  return invitation
}

async function findInvitation(trx: AuthTransaction, { tokenHash, userId, now }: Acceptance) {
  const db = withOwnTables(trx)
  const invitation = await db
    .selectFrom('invitation')
    .innerJoin('member as sender', 'sender.id', 'invitation.memberId')
    .select(['invitation.id', 'invitation.organizationId', 'invitation.role', 'email'])
    .select('sender.role as senderRole')
    .where('token', '=', tokenHash)
    .where('expiresAt', '>', now)
    .where('sender.userId', 'in', selectUnbanned(trx, now))
    .executeTakeFirst()
  // `setMemberRole` deletes the invitations of a demoted sender, but a change by hand doesn't.
  if (invitation === undefined || !mayManage(invitation.senderRole, invitation.role))
    throw organizationError('INVITATION_INVALID')
  // Read from the locked row: the email may have changed since the caller was authenticated.
  if ((await findInvitedEmail(trx, userId)) !== invitation.email)
    throw organizationError('INVITATION_FOR_ANOTHER')
  return invitation
}

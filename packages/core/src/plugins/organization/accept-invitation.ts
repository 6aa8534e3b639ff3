import * as z from 'zod'
import { type AuthTransaction, defineEndpoint, type Endpoint } from '../../auth.ts'
import { ENDPOINTS, type OrganizationResponse } from '../../protocol.ts'
import { hash } from './invitations.ts'
import { findMembership, findRole, insertMember, lockOrganizations } from './membership.ts'
import { organizationAnswer } from './plain-schemas.ts'
import { refuseOrganization } from './reasons.ts'
import { activate } from './set-active-organization.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/**
 * Makes the caller a member, once: whose account has the email that was invited. A session that works in no organization works in this one
 * from then on.
 */
export function acceptInvitation({
  limits,
  maxOrganizationsPerUser,
}: Settings): Endpoint<{ token: string }, { organization: OrganizationResponse }, false> {
  return defineEndpoint({
    ...ENDPOINTS.acceptInvitation,
    caller: 'user',
    input: z.strictObject({ token: z.string().min(1).max(128) }),
    output: z.object({ organization: organizationAnswer }),
    async run({ token }, { identity: { userId, sessionId }, config, limit, change }) {
      await limit(`organization:accept:${userId}`, limits.acceptances)
      const tokenHash = await hash(token)
      const now = config.now()
      return change(async (trx, record) => {
        const { id, organizationId, role } = await takeInvitation(trx, { tokenHash, userId, now })
        const key = { organizationId, userId }
        if ((await findRole(trx, key)) !== null) throw refuseOrganization('ALREADY_MEMBER')
        await insertMember(trx, { ...key, role, now }, { maxOrganizationsPerUser })
        await activate(withOwnTables(trx), {
          sessionId,
          activeOrganizationId: organizationId,
          activeOrganizationRole: role,
          onlyIfNone: true,
        })
        const detail = { organizationId, role, invitationId: id }
        record({ type: 'organization:member-added', userId, actorId: null, at: now, detail })
        return { body: { organization: await findMembership(trx, key) } }
      })
    },
  })
}

interface Invitation {
  readonly id: string
  readonly organizationId: string
  readonly role: string
}

interface Acceptance {
  readonly tokenHash: string
  readonly userId: string
  readonly now: Date
}

/**
 * Uses an invitation up. Its organization is locked from then on.
 *
 * @throws EndpointError `INVITATION_INVALID` or `INVITATION_FOR_ANOTHER`
 */
async function takeInvitation(trx: AuthTransaction, acceptance: Acceptance): Promise<Invitation> {
  const { organizationId } = await findInvitation(trx, acceptance)
  await lockOrganizations(trx, [organizationId])
  // Meanwhile it may have been withdrawn or used.
  const invitation = await findInvitation(trx, acceptance)
  await withOwnTables(trx).deleteFrom('invitation').where('id', '=', invitation.id).execute()
  return invitation
}

async function findInvitation(
  trx: AuthTransaction,
  { tokenHash, userId, now }: Acceptance,
): Promise<Invitation> {
  const db = withOwnTables(trx)
  const invitation = await db
    .selectFrom('invitation')
    .select(['id', 'organizationId', 'role', 'email'])
    .where('token', '=', tokenHash)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  if (invitation === undefined) throw refuseOrganization('INVITATION_INVALID')
  // Of the row, which is locked: the email may have been changed since the caller was let in.
  const user = await db.selectFrom('user').select('email').where('id', '=', userId).executeTakeFirstOrThrow()
  if (user.email.trim().toLowerCase() !== invitation.email) throw refuseOrganization('INVITATION_FOR_ANOTHER')
  return invitation
}

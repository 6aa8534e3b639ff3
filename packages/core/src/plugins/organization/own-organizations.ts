import * as z from 'zod'
import type { AuthTransaction } from '../../database/auth-transaction.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { ENDPOINTS, type OrganizationResponse } from '../../protocol.ts'
import { hashSecret } from '../../session/secret.ts'
import { findMembership, findRole, joinOrganization, lockOrganizations } from './membership.ts'
import { organizationResponse } from './plain-schemas.ts'
import { organizationError } from './reasons.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/**
 * Makes the caller a member, once, if their account has the invited email. A session without an organization
 * works in this one afterwards.
 */
export function acceptInvitation(
  settings: Settings,
): Endpoint<{ token: string }, { organization: OrganizationResponse }, false> {
  const { limits, maxOrganizationsPerUser } = settings
  return defineEndpoint({
    ...ENDPOINTS.acceptInvitation,
    caller: 'user',
    input: z.strictObject({ token: z.string().min(1).max(128) }),
    output: z.object({ organization: organizationResponse }),
    async run({ token }, { identity: { userId, sessionId }, config, limit, change }) {
      await limit(`organization:accept:${userId}`, limits.acceptances)
      const tokenHash = await hashSecret(token)
      const now = config.now()
      return change(async (trx, record) => {
        const { id, organizationId, role } = await consumeInvitation(trx, { tokenHash, userId, now })
        const key = { organizationId, userId }
        if ((await findRole(trx, key)) !== null) throw organizationError('ALREADY_MEMBER')
        await joinOrganization(trx, { ...key, role, createdAt: now }, { sessionId, maxOrganizationsPerUser })
        const detail = { organizationId, role, invitationId: id }
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
    .select(['id', 'organizationId', 'role', 'email'])
    .where('token', '=', tokenHash)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  if (invitation === undefined) throw organizationError('INVITATION_INVALID')
  // Read from the locked row: the email may have changed since the caller was authenticated.
  const user = await db.selectFrom('user').select('email').where('id', '=', userId).executeTakeFirstOrThrow()
  if (user.email.trim().toLowerCase() !== invitation.email) throw organizationError('INVITATION_FOR_ANOTHER')
  return invitation
}

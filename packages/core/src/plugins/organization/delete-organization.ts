import * as z from 'zod'
import { type AuthTransaction, defineEndpoint, type Endpoint } from '../../auth.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { lockMembership, requireManager } from './membership.ts'
import { done, id } from './plain-schemas.ts'
import { OWNER } from './roles.ts'
import { withOwnTables } from './tables.ts'

/** Deletes an organization with its members and invitations. Sessions that worked in it work in none. */
export const deleteOrganization: Endpoint<{ organizationId: string }, SuccessResponse, false> =
  defineEndpoint({
    ...ENDPOINTS.deleteOrganization,
    caller: 'fresh-user',
    input: z.strictObject({ organizationId: id }),
    output: done,
    async run({ organizationId }, context) {
      const { userId: actorId } = context.identity
      const at = context.config.now()
      await context.change(async (trx, record) => {
        const { role } = await lockMembership(trx, { organizationId, userId: actorId, others: 'all' })
        requireManager(role, OWNER, context)
        const detail = { organizationId }
        for (const userId of await removeOrganization(trx, organizationId)) {
          record({ type: 'organization:member-removed', userId, actorId, at, detail })
        }
        record({ type: 'organization:deleted', userId: null, actorId, at, detail })
      })
      return { body: { success: true } }
    },
  })

/** Returns the users who were its members. */
async function removeOrganization(trx: AuthTransaction, organizationId: string): Promise<string[]> {
  const db = withOwnTables(trx)
  const members = await db
    .deleteFrom('member')
    .where('organizationId', '=', organizationId)
    .returning('userId')
    .execute()
  await db.deleteFrom('organization').where('id', '=', organizationId).execute()
  return members.map(({ userId }) => userId)
}

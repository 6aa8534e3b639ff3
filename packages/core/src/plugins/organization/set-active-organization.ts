import * as z from 'zod'
import { type AuthTransaction, defineEndpoint, type Endpoint } from '../../auth.ts'
import { type ActiveOrganizationResponse, ENDPOINTS } from '../../protocol.ts'
import { activate } from './activate.ts'
import type { MembershipKey } from './membership.ts'
import { activeOrganization, id } from './plain-schemas.ts'
import { refuseOrganization } from './reasons.ts'
import { CHANGES } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** What `POST /organization/set-active` takes. */
export interface SetActiveOrganizationInput {
  /** Null is none. */
  organizationId: string | null
}

/** Makes the caller's session work in another organization. Their other sessions go on in theirs. */
export const setActiveOrganization: Endpoint<SetActiveOrganizationInput, ActiveOrganizationResponse, false> =
  defineEndpoint({
    ...ENDPOINTS.setActiveOrganization,
    caller: 'user',
    input: z.strictObject({ organizationId: id.nullable() }),
    output: activeOrganization,
    async run({ organizationId }, { identity: { userId, sessionId }, config, limit, change }) {
      await limit(`organization:change:${userId}`, CHANGES)
      const at = config.now()
      return change(async (trx, record) => {
        const active = {
          activeOrganizationId: organizationId,
          activeOrganizationRole:
            organizationId === null ? null : await lockRole(trx, { organizationId, userId }),
        }
        const hasChanged = await activate(withOwnTables(trx), { sessionId, ...active })
        const detail = { organizationId, sessionId }
        if (hasChanged) record({ type: 'organization:activated', userId, actorId: null, at, detail })
        return { body: active }
      })
    },
  })

/**
 * The role of a member, which stays until the end of the transaction: whoever changes or removes it afterwards sees the session that has
 * it.
 *
 * @throws EndpointError `ORGANIZATION_NOT_FOUND`
 */
async function lockRole(trx: AuthTransaction, { organizationId, userId }: MembershipKey): Promise<string> {
  const member = await withOwnTables(trx)
    .selectFrom('member')
    .select('role')
    .where('organizationId', '=', organizationId)
    .where('userId', '=', userId)
    .forShare()
    .executeTakeFirst()
  if (member === undefined) throw refuseOrganization('ORGANIZATION_NOT_FOUND')
  return member.role
}

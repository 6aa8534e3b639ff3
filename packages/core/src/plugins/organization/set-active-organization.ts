import * as z from 'zod'
import { type AuthTransaction, defineEndpoint, type Endpoint } from '../../auth.ts'
import { type ActiveOrganizationResponse, ENDPOINTS } from '../../protocol.ts'
import type { ActiveOrganization } from './active-organization.ts'
import type { MembershipKey } from './membership.ts'
import { activeOrganization, id } from './plain-schemas.ts'
import { refuseOrganization } from './reasons.ts'
import { CHANGES } from './settings.ts'
import { type OrganizationKysely, withOwnTables } from './tables.ts'

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

/**
 * Makes a session work in an organization, of which its user is a member; the row of that membership is locked.
 *
 * @returns whether it did not work there before
 */
export async function activate(
  db: OrganizationKysely,
  {
    sessionId,
    onlyIfNone = false,
    ...active
  }: ActiveOrganization & { sessionId: string; onlyIfNone?: boolean },
): Promise<boolean> {
  const { activeOrganizationId, activeOrganizationRole } = active
  let statement = db
    .updateTable('session')
    .set(active)
    .where('id', '=', sessionId)
    .where(({ eb, or }) =>
      or([
        eb('activeOrganizationId', 'is distinct from', activeOrganizationId),
        eb('activeOrganizationRole', 'is distinct from', activeOrganizationRole),
      ]),
    )
  if (onlyIfNone) statement = statement.where('activeOrganizationId', 'is', null)
  const { numUpdatedRows } = await statement.executeTakeFirst()
  return numUpdatedRows > 0n
}

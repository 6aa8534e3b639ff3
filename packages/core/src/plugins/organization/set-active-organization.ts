import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../auth.ts'
import { type ActiveOrganizationResponse, ENDPOINTS } from '../../protocol.ts'
import type { ActiveOrganization } from './active-organization.ts'
import { lockRole } from './membership.ts'
import { activeOrganization, id } from './plain-schemas.ts'
import { CHANGES } from './settings.ts'
import { type OrganizationKysely, withOwnTables } from './tables.ts'

/** Input of `POST /organization/set-active`. */
export interface SetActiveOrganizationInput {
  /** Null for no organization. */
  organizationId: string | null
}

/** Makes the caller's session work in another organization. Their other sessions keep theirs. */
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
        const role = organizationId === null ? null : await lockRole(trx, { organizationId, userId })
        const active = { activeOrganizationId: organizationId, activeOrganizationRole: role }
        const hasChanged = await activate(withOwnTables(trx), { sessionId, ...active })
        const detail = { organizationId, sessionId }
        if (hasChanged) record({ type: 'organization:activated', userId, actorId: null, at, detail })
        return { body: active }
      })
    },
  })

/** Makes a session work in an organization and returns whether it changed. The user's membership is locked. */
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

import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { id } from '../../endpoints/plain-schemas.ts'
import { type ActiveOrganizationResponse, ENDPOINTS } from '../../protocol.ts'
import { lockRole } from './membership.ts'
import { activeOrganization } from './plain-schemas.ts'
import { CHANGES } from './settings.ts'
import { withOwnTables } from './tables.ts'

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
        const { numUpdatedRows } = await withOwnTables(trx)
          .updateTable('session')
          .set(active)
          .where('id', '=', sessionId)
          .where(({ eb, or }) =>
            or([
              eb('activeOrganizationId', 'is distinct from', organizationId),
              eb('activeOrganizationRole', 'is distinct from', role),
            ]),
          )
          .executeTakeFirst()
        const detail = { organizationId, sessionId }
        if (numUpdatedRows > 0n) record({ type: 'organization:activated', userId, actorId: null, at, detail })
        return { body: active }
      })
    },
  })

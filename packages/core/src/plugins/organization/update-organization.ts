import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../auth.ts'
import { ENDPOINTS, type OrganizationResponse } from '../../protocol.ts'
import { lockMembership, requireManager } from './membership.ts'
import { id, organizationAnswer, organizationName, slug as slugSchema } from './plain-schemas.ts'
import { refuseOrganization } from './reasons.ts'
import { CHANGES } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** What `POST /organization/update` takes. */
export interface UpdateOrganizationInput {
  organizationId: string
  name?: string
  slug?: string
}

/** Gives an organization another name or slug. */
export const updateOrganization: Endpoint<
  UpdateOrganizationInput,
  { organization: OrganizationResponse },
  false
> = defineEndpoint({
  ...ENDPOINTS.updateOrganization,
  caller: 'user',
  input: z.strictObject({
    organizationId: id,
    name: organizationName.exactOptional(),
    slug: slugSchema.exactOptional(),
  }),
  output: z.object({ organization: organizationAnswer }),
  async run({ organizationId, name, slug }, context) {
    const { userId } = context.identity
    await context.limit(`organization:change:${userId}`, CHANGES)
    const at = context.config.now()
    return context.change(async (trx, record) => {
      const organization = await lockMembership(trx, { organizationId, userId })
      requireManager(organization.role, 'member', context)
      const changed = { name: name ?? organization.name, slug: slug ?? organization.slug }
      await withOwnTables(trx)
        .updateTable('organization')
        .set(changed)
        .where('id', '=', organizationId)
        .execute()
        .catch(refuseTaken)
      record({
        type: 'organization:updated',
        userId: null,
        actorId: userId,
        at,
        detail: { organizationId, ...changed },
      })
      return { body: { organization: { ...organization, ...changed } } }
    })
  },
})

/** The slug is the only thing here that must be unique. */
function refuseTaken(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? error.code : null
  const isTaken = code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE'
  throw isTaken ? refuseOrganization('SLUG_TAKEN', { cause: error }) : error
}

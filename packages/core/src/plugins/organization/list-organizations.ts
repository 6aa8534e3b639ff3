import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../auth.ts'
import { ENDPOINTS, type OrganizationResponse } from '../../protocol.ts'
import { organizationAnswer, toIso } from './plain-schemas.ts'
import { withOwnTables } from './tables.ts'

/** The organizations that the caller is a member of, by name. */
export const listOrganizations: Endpoint<object, { organizations: OrganizationResponse[] }, false> =
  defineEndpoint({
    ...ENDPOINTS.listOrganizations,
    caller: 'user',
    input: z.object({}),
    output: z.object({ organizations: z.array(organizationAnswer) }),
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

import * as z from 'zod'
import { type AuthTransaction, defineEndpoint, type Endpoint } from '../../auth.ts'
import { type ActiveOrganizationResponse, ENDPOINTS } from '../../protocol.ts'
import { lockRole, type MembershipKey } from './membership.ts'
import { activeOrganization, id } from './plain-schemas.ts'
import { organizationError } from './reasons.ts'
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

/**
 * Makes a user a member. A session without an organization works in this one afterwards. The user is locked, so
 * the number of their organizations can't change meanwhile.
 *
 * @throws EndpointError `TOO_MANY_ORGANIZATIONS`
 */
export async function joinOrganization(
  trx: AuthTransaction,
  member: MembershipKey & { readonly role: string; readonly createdAt: Date },
  { sessionId, maxOrganizationsPerUser }: { sessionId: string; maxOrganizationsPerUser: number },
): Promise<void> {
  const db = withOwnTables(trx)
  const { count } = await db
    .selectFrom('member')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('userId', '=', member.userId)
    .executeTakeFirstOrThrow()
  // PostgreSQL returns a count as text.
  if (Number(count) >= maxOrganizationsPerUser) throw organizationError('TOO_MANY_ORGANIZATIONS')
  await db
    .insertInto('member')
    .values({ id: crypto.randomUUID(), ...member })
    .execute()
  await db
    .updateTable('session')
    .set({ activeOrganizationId: member.organizationId, activeOrganizationRole: member.role })
    .where('id', '=', sessionId)
    .where('activeOrganizationId', 'is', null)
    .execute()
}

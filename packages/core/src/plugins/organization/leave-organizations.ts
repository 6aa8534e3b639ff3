import type { AuthTransaction, RecordEvent } from '../../auth.ts'
import { isBanned } from '../../index.ts'
import { lockOrganizations } from './membership.ts'
import { refuseOrganization } from './reasons.ts'
import { OWNER } from './roles.ts'
import { withOwnTables } from './tables.ts'

/**
 * Ends the memberships of a user who is being deleted. An organization that they are the only member of goes with them.
 *
 * @throws EndpointError `OWNER_NEEDED` where others would be left in one without an owner; then the user stays
 */
export async function leaveOrganizations(
  trx: AuthTransaction,
  record: RecordEvent,
  { userId, at }: { userId: string; at: Date },
): Promise<void> {
  const db = withOwnTables(trx)
  // The user is locked: nobody else changes what they are a member of.
  const own = await db
    .selectFrom('member')
    .select(['organizationId', 'role'])
    .where('userId', '=', userId)
    .execute()
  if (own.length === 0) return
  const organizationIds = own.map(({ organizationId }) => organizationId)
  await lockOrganizations(trx, organizationIds)
  const left = await rolesOfOthers(trx, { userId, organizationIds, now: at })
  for (const { organizationId, role } of own) {
    const others = left.get(organizationId)
    if (others !== undefined && role === OWNER && !others.has(OWNER)) throw refuseOrganization('OWNER_NEEDED')
  }
  await db.deleteFrom('member').where('userId', '=', userId).execute()
  for (const { organizationId } of own) {
    const detail = { organizationId }
    record({ type: 'organization:member-removed', userId, actorId: null, at, detail })
    if (left.has(organizationId)) continue
    await db.deleteFrom('organization').where('id', '=', organizationId).execute()
    record({ type: 'organization:deleted', userId: null, actorId: userId, at, detail })
  }
}

/** What there is in each organization besides a user; organizations without anyone else are left out. A banned owner is as good as none. */
async function rolesOfOthers(
  trx: AuthTransaction,
  { userId, organizationIds, now }: { userId: string; organizationIds: readonly string[]; now: Date },
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const roles = new Map<string, Set<string>>()
  const rows = await withOwnTables(trx)
    .selectFrom('member')
    .innerJoin('user', 'user.id', 'member.userId')
    .select(['organizationId', 'member.role', 'user.banned', 'user.banExpires'])
    .distinct()
    .where('organizationId', 'in', organizationIds)
    .where('userId', '!=', userId)
    .execute()
  for (const { organizationId, role, banned, banExpires } of rows) {
    const of = roles.get(organizationId) ?? new Set()
    const ban = { banned: Boolean(banned), banExpires: banExpires === null ? null : new Date(banExpires) }
    roles.set(organizationId, isBanned(ban, now) ? of : of.add(role))
  }
  return roles
}

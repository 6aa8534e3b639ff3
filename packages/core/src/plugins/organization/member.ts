import type { Kysely } from 'kysely'
import type { AuthTables, AuthTransaction } from '../../auth.ts'
import type { MembershipKey } from './membership.ts'
import { refuseOrganization } from './reasons.ts'
import { OWNER } from './roles.ts'
import { withOwnTables } from './tables.ts'

/** The role of a member; null for whoever is none. */
export async function findRole(
  db: Kysely<AuthTables>,
  { organizationId, userId }: MembershipKey,
): Promise<string | null> {
  const found = await withOwnTables(db)
    .selectFrom('member')
    .select('role')
    .where('organizationId', '=', organizationId)
    .where('userId', '=', userId)
    .executeTakeFirst()
  return found?.role ?? null
}

/**
 * {@link findRole} of somebody who is to be a member.
 *
 * @throws EndpointError `MEMBER_NOT_FOUND`
 */
export async function requireRoleOf(trx: AuthTransaction, key: MembershipKey): Promise<string> {
  const role = await findRole(trx, key)
  if (role === null) throw refuseOrganization('MEMBER_NOT_FOUND')
  return role
}

/**
 * For a user who is about to be an owner no longer. The organization is locked.
 *
 * @throws EndpointError `OWNER_NEEDED` where there is no other, or none who is not banned
 */
export async function requireOtherOwner(
  trx: AuthTransaction,
  { organizationId, userId }: MembershipKey,
  now: Date,
): Promise<void> {
  const other = await withOwnTables(trx)
    .selectFrom('member')
    .innerJoin('user', 'user.id', 'member.userId')
    .select('member.id')
    .where('organizationId', '=', organizationId)
    .where('member.role', '=', OWNER)
    .where('userId', '!=', userId)
    // Whoever is banned can do nothing for it.
    .where(({ eb, or }) => or([eb('user.banned', '=', false), eb('user.banExpires', '<=', now)]))
    .limit(1)
    .executeTakeFirst()
  if (other === undefined) throw refuseOrganization('OWNER_NEEDED')
}

/** Who becomes a member, and as what. */
export interface NewMember extends MembershipKey {
  readonly role: string
  readonly now: Date
}

/**
 * Makes a user a member. The user is locked, so that their organizations are as many as are counted here.
 *
 * @param limits.maxOrganizationsPerUser of how many they may be a member then
 * @throws EndpointError `TOO_MANY_ORGANIZATIONS`
 */
export async function insertMember(
  trx: AuthTransaction,
  { organizationId, userId, role, now }: NewMember,
  { maxOrganizationsPerUser }: { readonly maxOrganizationsPerUser: number },
): Promise<void> {
  const db = withOwnTables(trx)
  const { count } = await db
    .selectFrom('member')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('userId', '=', userId)
    .executeTakeFirstOrThrow()
  // In PostgreSQL a count is a text.
  if (Number(count) >= maxOrganizationsPerUser) throw refuseOrganization('TOO_MANY_ORGANIZATIONS')
  await db
    .insertInto('member')
    .values({ id: crypto.randomUUID(), organizationId, userId, role, createdAt: now })
    .execute()
}

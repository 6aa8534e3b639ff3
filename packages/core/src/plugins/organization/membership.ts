import type { Kysely } from 'kysely'
import type { AuthorizedContext, AuthTables, AuthTransaction } from '../../auth.ts'
import type { OrganizationResponse } from '../../protocol.ts'
import { denial } from '../../session/report-denial.ts'
import { toIso } from './plain-schemas.ts'
import { refuseOrganization } from './reasons.ts'
import { mayManage, OWNER } from './roles.ts'
import { withOwnTables } from './tables.ts'

/** Who asks about which organization. */
export interface MembershipKey {
  readonly organizationId: string
  readonly userId: string
}

/**
 * An organization, as one of its members sees it.
 *
 * @throws EndpointError `ORGANIZATION_NOT_FOUND`, also for whoever is no member of it
 */
export async function findMembership(
  db: Kysely<AuthTables>,
  { organizationId, userId }: MembershipKey,
): Promise<OrganizationResponse> {
  const found = await withOwnTables(db)
    .selectFrom('member')
    .innerJoin('organization', 'organization.id', 'member.organizationId')
    .where('member.organizationId', '=', organizationId)
    .where('member.userId', '=', userId)
    .select(['organization.id', 'name', 'slug', 'role', 'organization.createdAt'])
    .executeTakeFirst()
  if (found === undefined) throw refuseOrganization('ORGANIZATION_NOT_FOUND')
  return { ...found, createdAt: toIso(found.createdAt) }
}

/**
 * {@link findMembership} for whoever is about to change something of the organization, which is locked from then on. The order of all
 * locks here: the caller with their session, which `change` has locked; other users whose sessions will say something else, by id; and
 * the organization, or several by id.
 *
 * @param key.others members whose sessions will change
 */
export async function lockMembership(
  trx: AuthTransaction,
  key: MembershipKey & { readonly others?: readonly string[] | 'all' },
): Promise<OrganizationResponse> {
  // A stranger makes nobody wait.
  await findMembership(trx, key)
  await lockMembers(trx, key)
  await lockOrganizations(trx, [key.organizationId])
  // While we waited for the locks the caller may have been removed, or given another role.
  return findMembership(trx, key)
}

async function lockMembers(
  trx: AuthTransaction,
  { organizationId, others = [] }: { organizationId: string; others?: readonly string[] | 'all' },
): Promise<void> {
  if (others.length === 0) return
  let members = withOwnTables(trx)
    .selectFrom('member')
    .select('userId')
    .where('organizationId', '=', organizationId)
  if (others !== 'all') members = members.where('userId', 'in', others)
  await withOwnTables(trx)
    .selectFrom('user')
    .select('id')
    .where('id', 'in', members)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
}

/** Locks organizations: none of their members and invitations changes until the end of the transaction. */
export async function lockOrganizations(
  trx: AuthTransaction,
  organizationIds: readonly string[],
): Promise<void> {
  await withOwnTables(trx)
    .selectFrom('organization')
    .select('id')
    .where('id', 'in', organizationIds)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
}

/** @throws AuthError `ROLE_REQUIRED` where {@link mayManage} says no */
export function requireManager(
  actorRole: string,
  role: string,
  { session, config }: Pick<AuthorizedContext, 'session' | 'config'>,
): void {
  if (!mayManage(actorRole, role)) throw denial('ROLE_REQUIRED', session.id, config)
}

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

import type { SelectQueryBuilder } from 'kysely'
import * as z from 'zod/mini'
import type { AuthKysely, AuthTables } from '../../database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../../database/session-database.ts'
import type { AuthorizedContext } from '../../endpoints/endpoint.ts'
import type { OrganizationResponse } from '../../protocol.ts'
import { denial } from '../../session/report-denial.ts'
import { toIso } from '../../session/session-row.ts'
import { emailAddress } from '../internal.ts'
import { organizationError } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** The role that every organization has at least once. */
export const OWNER = 'owner'

/** Returns whether a role may manage another. Owners may manage all, admins all but owners, others none. */
export function mayManage(ownRole: string, role: string): boolean {
  return ownRole === OWNER || (ownRole === 'admin' && role !== OWNER)
}

/** @throws AuthError `ROLE_REQUIRED` unless {@link mayManage} */
export function requireManager(ownRole: string, role: string, { session, config }: AuthorizedContext): void {
  if (!mayManage(ownRole, role)) throw denial('ROLE_REQUIRED', session.id, { config })
}

export type MembershipKey = { readonly organizationId: string; readonly userId: string }

/** @throws EndpointError `ORGANIZATION_NOT_FOUND`, also if the user isn't a member */
export async function findMembership(
  db: AuthKysely,
  { organizationId, userId }: MembershipKey,
): Promise<OrganizationResponse & { memberId: string }> {
  const found = await withOwnTables(db)
    .selectFrom('member')
    .innerJoin('organization', 'organization.id', 'member.organizationId')
    .where(({ and }) => and({ 'member.organizationId': organizationId, userId }))
    .select(['organization.id', 'name', 'slug', 'role', 'organization.createdAt', 'member.id as memberId'])
    .executeTakeFirst()
  if (found === undefined) throw organizationError('ORGANIZATION_NOT_FOUND')
  return { ...found, createdAt: toIso(found.createdAt) }
}

/**
 * {@link findMembership} with locks, before a change to the organization. The order of all locks here: the
 * caller with their session, which `change` has locked; other users whose memberships will change, by id; and
 * the organization, or several by id.
 */
export async function lockMembership(
  trx: AuthTransaction,
  { others = [], ...key }: MembershipKey & { readonly others?: readonly string[] | 'all' },
): ReturnType<typeof findMembership> {
  const { organizationId } = key
  // Before the locks: a caller who isn't a member must not make others wait.
  await findMembership(trx, key)
  if (others.length > 0) await lockMembers(trx, organizationId, others)
  await lockOrganizations(trx, [organizationId])
  // Meanwhile the caller may have been removed, or given another role.
  return findMembership(trx, key)
}

async function lockMembers(trx: AuthTransaction, organizationId: string, others: readonly string[] | 'all') {
  const db = withOwnTables(trx)
  let members = db.selectFrom('member').select('userId').where('organizationId', '=', organizationId)
  if (others !== 'all') members = members.where('userId', 'in', others)
  await db.selectFrom('user').select('id').where('id', 'in', members).orderBy('id').forNoKeyUpdate().execute()
}

/** Locks organizations: their members and invitations stay as they are until the end of the transaction. */
export async function lockOrganizations(trx: AuthTransaction, ids: readonly string[]): Promise<void> {
  const organizations = withOwnTables(trx).selectFrom('organization').select('id').where('id', 'in', ids)
  await organizations.orderBy('id').forNoKeyUpdate().execute()
}

function selectMember(db: AuthKysely, { organizationId, userId }: MembershipKey) {
  const members = withOwnTables(db).selectFrom('member').select(['id', 'role'])
  return members.where('organizationId', '=', organizationId).where('userId', '=', userId)
}

export async function findRole(db: AuthKysely, key: MembershipKey): Promise<string | null> {
  const found = await selectMember(db, key).executeTakeFirst()
  return found?.role ?? null
}

/** Returns the email of a locked user as invitations have it; undefined if no invitation can. */
export async function findInvitedEmail(trx: AuthTransaction, userId: string): Promise<string | undefined> {
  const user = await trx.selectFrom('user').select('email').where('id', '=', userId).executeTakeFirst()
  return z.safeParse(emailAddress, user?.email).data
}

type Member = { id: string; role: string }

export async function requireMember(trx: AuthTransaction, key: MembershipKey): Promise<Member> {
  const member = await selectMember(trx, key).executeTakeFirst()
  if (member === undefined) throw organizationError('MEMBER_NOT_FOUND')
  return member
}

/** @throws EndpointError `OWNER_NEEDED` if every other owner is banned, or none exists */
export async function requireOtherOwner(
  trx: AuthTransaction,
  { organizationId, userId }: MembershipKey,
  now: Date,
): Promise<void> {
  const other = await withOwnTables(trx)
    .selectFrom('member')
    .select('id')
    .where(({ and }) => and({ organizationId, role: OWNER }))
    .where('userId', '!=', userId)
    .where('userId', 'in', selectUnbanned(trx, now))
    .limit(1)
    .executeTakeFirst()
  if (other === undefined) throw organizationError('OWNER_NEEDED')
}

/** Selects the ids of users who aren't banned, or whose ban has ended. */
export function selectUnbanned(
  trx: AuthTransaction,
  now: Date,
): SelectQueryBuilder<AuthTables, 'user', { id: string }> {
  return trx
    .selectFrom('user')
    .select('id')
    .where(({ eb, or }) =>
      or([eb('banned', '=', false), eb('banned', 'is', null), eb('banExpires', '<=', now)]),
    )
}

/** Adds a member, and activates the organization if their session has none. */
export async function joinOrganization(
  trx: AuthTransaction,
  member: MembershipKey & { readonly role: string; readonly createdAt: Date },
  { sessionId, maxOrganizationsPerUser }: { sessionId: string; maxOrganizationsPerUser: number },
): Promise<void> {
  const db = withOwnTables(trx)
  // The user is locked, so the number of their organizations can't change meanwhile.
  const { count } = await db
    .selectFrom('member')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('userId', '=', member.userId)
    .executeTakeFirstOrThrow()
  const row = { id: crypto.randomUUID(), ...member }
  // PostgreSQL returns a count as text.
  if (Number(count) >= maxOrganizationsPerUser) throw organizationError('TOO_MANY_ORGANIZATIONS')
  await db.insertInto('member').values(row).execute()
  // The session may have an organization that the user has left.
  const own = db.selectFrom('member').select('organizationId').where('userId', '=', member.userId)
  await db
    .updateTable('session')
    .set({ activeOrganizationId: member.organizationId })
    .where('id', '=', sessionId)
    .where(({ eb, or }) =>
      or([eb('activeOrganizationId', 'is', null), eb('activeOrganizationId', 'not in', own)]),
    )
    .execute()
}

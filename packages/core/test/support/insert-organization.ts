import type { AuthTables } from '@sallyport/core/auth'
import type { TestClock } from '@sallyport/core/testing'
import type { Kysely } from 'kysely'
import { withOwnTables } from '../../src/plugins/organization/tables.ts'
import { hashSecret } from '../../src/session/secret.ts'

interface Database {
  readonly db: Kysely<AuthTables>
  readonly clock: TestClock
}

/** Inserts an organization with members, given as their ids and roles. */
export async function insertOrganization(
  { db, clock }: Database,
  members: Readonly<Record<string, string>>,
): Promise<{ organizationId: string; slug: string }> {
  const organizationId = crypto.randomUUID()
  const slug = `acme-${organizationId}`
  const createdAt = clock.now()
  const tables = withOwnTables(db)
  await tables
    .insertInto('organization')
    .values({ id: organizationId, name: 'Acme', slug, createdAt })
    .execute()
  for (const [userId, role] of Object.entries(members)) {
    const id = crypto.randomUUID()
    await tables.insertInto('member').values({ id, organizationId, userId, role, createdAt }).execute()
  }
  return { organizationId, slug }
}

/** Inserts an invitation as if it was just delivered, valid for an hour. */
export async function insertInvitation(
  { db, clock }: Database,
  { organizationId, inviterId, email }: { organizationId: string; inviterId: string; email: string },
): Promise<{ invitationId: string; token: string }> {
  const [invitationId, token] = [crypto.randomUUID(), crypto.randomUUID()]
  const createdAt = clock.now()
  const row = {
    id: invitationId,
    organizationId,
    email,
    role: 'member',
    token: await hashSecret(token),
  }
  const expiresAt = new Date(createdAt.getTime() + 3_600_000)
  const tables = withOwnTables(db)
  const members = tables.selectFrom('member').select('id').where('organizationId', '=', organizationId)
  const { id: memberId } = await members.where('userId', '=', inviterId).executeTakeFirstOrThrow()
  await tables
    .insertInto('invitation')
    .values({ ...row, memberId, expiresAt, createdAt })
    .execute()
  return { invitationId, token }
}

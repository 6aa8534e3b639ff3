import { openPostgres } from '@sallyport/core/postgres'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { codeOf } from '../../support/code-of.ts'
import {
  type Company,
  type OrganizationAuth,
  type OrganizationPerson,
  startOrganizationAuth,
} from '../../support/organization-auth.ts'
import { testPostgres } from '../../support/postgres.ts'

const postgres = await testPostgres()
const postgresUrl = await postgres.createDatabase('app')

describe.each([{ name: 'SQLite' }, { name: 'PostgreSQL', postgresUrl }])(
  'in $name',
  ({ name, ...options }) => {
    let auth: OrganizationAuth
    beforeAll(async () => {
      auth = await startOrganizationAuth(options)
    })

    const memberOf = ({ id }: Company, { userId }: OrganizationPerson) =>
      auth.db.selectFrom('member').selectAll().where('organizationId', '=', id).where('userId', '=', userId)
    const updateMember = (
      { id }: Company,
      { userId }: OrganizationPerson,
      changes: { role: string } | { userId: string },
    ) =>
      auth.db
        .updateTable('member')
        .set(changes)
        .where('organizationId', '=', id)
        .where('userId', '=', userId)
        .execute()
    const deleteMember = ({ id }: Company, { userId }: OrganizationPerson) =>
      auth.db.deleteFrom('member').where('organizationId', '=', id).where('userId', '=', userId).execute()
    const hasLog = name === 'PostgreSQL'
    /** Returns the log entries about a user. */
    const logOf = async ({ userId }: OrganizationPerson) => {
      if (!hasLog) return []
      return auth.db
        .selectFrom('sallyport.revocation_log')
        .select(['sessionId', 'userId'])
        .where('userId', '=', userId)
        .execute()
    }

    describe("updates the member's sessions if a membership is changed directly", () => {
      const CHANGES: { what: string; change: (company: Company) => Promise<unknown>; role: string | null }[] =
        [
          {
            what: 'another role',
            change: (company) => updateMember(company, company.member, { role: 'admin' }),
            role: 'admin',
          },
          { what: 'removed', change: (company) => deleteMember(company, company.member), role: null },
          {
            what: 'transferred to another user',
            change: async (company) => {
              const { userId } = await auth.createPerson()
              await updateMember(company, company.member, { userId })
            },
            role: null,
          },
          {
            what: 'deleted with its organization',
            change: ({ id }) => auth.db.deleteFrom('organization').where('id', '=', id).execute(),
            role: null,
          },
        ]

      test.each(CHANGES)('$what', async ({ change, role }) => {
        const company = await auth.createCompany()
        const { id, member } = company
        const inOther = await auth.signIn(member)
        const { organization } = await auth.api.createOrganization({ name: 'Own', request: inOther.request })
        const before = await logOf(member)
        await change(company)
        expect(await auth.activeOf(member)).toEqual([role === null ? null : id, role])
        expect(await auth.activeOf(inOther)).toEqual([organization.id, 'owner'])
        // Every node learns of that session, and of no other.
        const entry = { sessionId: member.sessionId, userId: member.userId }
        expect((await logOf(member)).slice(before.length)).toEqual(hasLog ? [entry] : [])
        if (role === null)
          expect(await codeOf(auth.api.listMembers({ organizationId: id, request: member.request }))).toBe(
            'ORGANIZATION_NOT_FOUND',
          )
      })
    })

    test('also if it is replaced, or deleted with all others', async () => {
      const company = await auth.createCompany()
      const { admin } = company
      if (name === 'SQLite') {
        await sql`insert or replace into member select id, "organizationId", "userId", 'member', "createdAt"
          from member where "userId" = ${admin.userId}`.execute(auth.db)
        expect(await auth.activeOf(admin)).toEqual([company.id, 'member'])
        return
      }
      const others = await startOrganizationAuth({ postgresUrl: await postgres.createDatabase('truncated') })
      const { member } = await others.createCompany()
      await sql`truncate member cascade`.execute(others.db)
      expect(await others.activeOf(member)).toEqual([null, null])
    })

    test('records nothing if the organization is already active', async () => {
      const { id, member } = await auth.createCompany()
      const activations = () =>
        auth.db
          .selectFrom('sallyport.audit')
          .select('id')
          .where('userId', '=', member.userId)
          .where('type', '=', 'organization:activated')
          .execute()
      const before = await activations()
      const { request } = member
      await auth.api.setActiveOrganization({ organizationId: id, request })
      expect(await activations()).toEqual(before)
      await auth.api.setActiveOrganization({ organizationId: null, request })
      await auth.api.setActiveOrganization({ organizationId: null, request })
      expect(await activations()).toHaveLength(before.length + 1)
    })

    test.runIf(hasLog)('announces nothing if nothing is taken from a session', async () => {
      const company = await auth.createCompany()
      const { member } = company
      const elsewhere = await auth.signIn(member)
      const before = await logOf(member)
      await auth.api.setActiveOrganization({ organizationId: company.id, request: elsewhere.request })
      await auth.db
        .updateTable('session')
        .set({ ipAddress: '192.0.2.1' })
        .where('userId', '=', member.userId)
        .execute()
      await auth.db
        .updateTable('member')
        .set({ createdAt: auth.clock.now() })
        .where('userId', '=', member.userId)
        .execute()
      expect(await logOf(member)).toEqual(before)
    })

    test.runIf(hasLog)('announces to every node that a session leaves its organization', async () => {
      const { member } = await auth.createCompany()
      const before = await logOf(member)
      await auth.api.setActiveOrganization({ organizationId: null, request: member.request })
      expect((await logOf(member)).slice(before.length)).toEqual([
        { sessionId: member.sessionId, userId: member.userId },
      ])
    })

    test('the life cycle of an organization', async () => {
      const company = await auth.createCompany()
      const { id, owner, admin, member } = company
      const guest = await auth.createPerson()
      const { api } = auth
      const { request } = owner
      const other = await auth.createCompany()
      const { organizations } = await api.listOrganizations({ request: other.owner.request })
      const slug = organizations[0]?.slug ?? ''
      expect(await codeOf(api.createOrganization({ name: 'Acme', slug, request }))).toBe('SLUG_TAKEN')
      expect(await codeOf(api.updateOrganization({ organizationId: id, slug, request }))).toBe('SLUG_TAKEN')
      await api.inviteMember({ organizationId: id, email: guest.email, role: 'admin', request })
      const { token } = await auth.takeInvitation()
      expect((await api.acceptInvitation({ token, request: guest.request })).organization).toMatchObject({
        id,
        role: 'admin',
      })
      expect(await auth.activeOf(guest)).toEqual([id, 'admin'])
      await api.setMemberRole({ organizationId: id, userId: guest.userId, role: 'member', request })
      expect(await auth.activeOf(guest)).toEqual([id, 'member'])
      await api.removeMember({ organizationId: id, userId: guest.userId, request: admin.request })
      expect(await auth.activeOf(guest)).toEqual([null, null])
      await api.deleteUser({ request: member.request })
      expect(await memberOf(company, member).execute()).toEqual([])
      expect(await codeOf(api.deleteUser({ request }))).toBe('OWNER_NEEDED')
      expect(await memberOf(company, owner).execute()).toHaveLength(1)
      await expect(auth.db.deleteFrom('user').where('id', '=', owner.userId).execute()).rejects.toThrow(
        /foreign key/i,
      )
      await api.deleteOrganization({ organizationId: id, request })
      expect(await auth.activeOf(admin)).toEqual([null, null])
      await api.deleteUser({ request })
    })
  },
)

test('another PostgreSQL node learns of it at once', async () => {
  const auth = await startOrganizationAuth({ postgresUrl: await postgres.createDatabase('two_nodes') })
  const { id, owner, member } = await auth.createCompany()
  const { columns } = auth.database
  const node = await openPostgres(postgres.urlOf('two_nodes'), { columns })
  afterAll(node.close)
  const listener = vi.fn<() => void>()
  const stop = node.revocations.subscribe(member, listener)
  await auth.api.removeMember({ organizationId: id, userId: member.userId, request: owner.request })
  await expect.poll(() => listener.mock.calls.length).toBeGreaterThan(0)
  stop()
})

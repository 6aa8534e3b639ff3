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
    /** The entries about a user since `before`. */
    const logOf = ({ userId }: OrganizationPerson) =>
      auth.db
        .selectFrom('revocation_log')
        .select(['sessionId', 'userId'])
        .where('userId', '=', userId)
        .execute()

    describe('a membership that is changed by hand is changed in the sessions of the member', () => {
      const CHANGES: { what: string; change: (company: Company) => Promise<unknown>; role: string | null }[] =
        [
          {
            what: 'another role',
            change: (company) => updateMember(company, company.member, { role: 'admin' }),
            role: 'admin',
          },
          { what: 'removed', change: (company) => deleteMember(company, company.member), role: null },
          {
            what: 'given to someone else',
            change: async (company) => {
              const { userId } = await auth.createPerson()
              await updateMember(company, company.member, { userId })
            },
            role: null,
          },
          {
            what: 'gone with its organization',
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
        // Every node is told of that session, and of no other.
        const told = { sessionId: member.sessionId, userId: member.userId }
        expect((await logOf(member)).slice(before.length)).toEqual([told])
        if (role === null)
          expect(await codeOf(auth.api.listMembers({ organizationId: id, request: member.request }))).toBe(
            'ORGANIZATION_NOT_FOUND',
          )
      })
    })

    test('so is one that is replaced, or goes with all others', async () => {
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

    test('nothing is recorded where a session works there already', async () => {
      const { id, member } = await auth.createCompany()
      const activations = () =>
        auth.db
          .selectFrom('audit')
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

    test('nobody is told where nothing is taken from a session', async () => {
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

    test('every node is told where a session leaves its organization', async () => {
      const { member } = await auth.createCompany()
      const before = await logOf(member)
      await auth.api.setActiveOrganization({ organizationId: null, request: member.request })
      expect((await logOf(member)).slice(before.length)).toEqual([
        { sessionId: member.sessionId, userId: member.userId },
      ])
    })

    test('a company lives and ends', async () => {
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

    describe('a list by pages', () => {
      /** What there is, page by page. */
      async function pages(
        list: (page: {
          limit: number
          cursor?: string
        }) => Promise<{ ids: string[]; nextCursor: string | null }>,
        betweenPages: (lastId: string) => Promise<unknown> = async () => {},
      ): Promise<string[]> {
        const ids: string[] = []
        let cursor: string | null = ''
        while (cursor !== null) {
          const page = await list({ limit: 3, ...(cursor !== '' && { cursor }) })
          ids.push(...page.ids)
          cursor = page.nextCursor
          if (cursor !== null) await betweenPages(page.ids.at(-1) ?? '')
        }
        return ids
      }

      async function companyOfTen(): Promise<{ company: Company; userIds: string[] }> {
        const company = await auth.createCompany()
        await auth.db
          .deleteFrom('member')
          .where('organizationId', '=', company.id)
          .where('role', '!=', 'owner')
          .execute()
        auth.clock.advance(1)
        const userIds: string[] = [company.owner.userId]
        for (let count = 1; count < 10; count++) {
          // Some in the same millisecond.
          if (count % 4 === 0) auth.clock.advance(1)
          const { userId } = await auth.createPerson()
          await auth.insertMember(company.id, userId, 'member')
          userIds.push(userId)
        }
        return { company, userIds }
      }

      const membersOf =
        ({ id, owner }: Company) =>
        async (page: { limit: number; cursor?: string }) => {
          const { members, nextCursor } = await auth.api.listMembers({
            organizationId: id,
            ...page,
            request: owner.request,
          })
          return { ids: members.map(({ userId }) => userId), nextCursor }
        }

      test('has every member once, the oldest first', async () => {
        const { company, userIds } = await companyOfTen()
        const listed = await pages(membersOf(company))
        expect([...listed].sort()).toEqual([...userIds].sort())
        // Of one moment they are in no particular order.
        const moments = (ids: string[]) =>
          [[0, 1], [1, 4], [4, 8], [8]].map(([from, to]) => ids.slice(from, to).sort())
        expect(moments(listed)).toEqual(moments(userIds))
      })

      test('goes on where it was, when the last of a page is removed', async () => {
        const { company, userIds } = await companyOfTen()
        const listed = await pages(membersOf(company), (userId) =>
          auth.db.deleteFrom('member').where('userId', '=', userId).execute(),
        )
        expect([...listed].sort()).toEqual([...userIds].sort())
      })

      test('ends, however fine the moments in the table are', async () => {
        const { company, userIds } = await companyOfTen()
        const finer =
          options.postgresUrl === undefined ? '2026-01-01T00:00:00.0005Z' : '2026-01-01T00:00:00.000500Z'
        await sql`update member set "createdAt" = ${finer} where "organizationId" = ${company.id}`.execute(
          auth.db,
        )
        expect((await pages(membersOf(company))).sort()).toEqual([...userIds].sort())
      })

      test('has every invitation that is open once', async () => {
        const { id, owner } = await auth.createCompany()
        for (let count = 0; count < 4; count++) {
          const email = `${count}@example.com`
          await auth.api.inviteMember({ organizationId: id, email, role: 'member', request: owner.request })
          await auth.takeInvitation()
          auth.clock.advance(1)
        }
        const listed = await pages(async (page) => {
          const answer = await auth.api.listInvitations({
            organizationId: id,
            ...page,
            request: owner.request,
          })
          return { ids: answer.invitations.map(({ email }) => email), nextCursor: answer.nextCursor }
        })
        expect(listed).toEqual(['0@example.com', '1@example.com', '2@example.com', '3@example.com'])
      })

      test.each([
        ['limit', { limit: 0 }],
        ['limit', { limit: 101 }],
        ['limit', { limit: 1.5 }],
        ['cursor', { cursor: 'x' }],
        ['cursor', { cursor: '2026-01-01_x' }],
        ['cursor', { cursor: '2026-01-01T00:00:00.000Z_' }],
        ['cursor', { cursor: '2020-99-99T99:99:99.999Z_x' }],
        ['cursor', { cursor: '2026-01-01T00:00:00.000Z_\0' }],
      ])('takes no %s like %j', async (field, page) => {
        const { id, owner } = await auth.createCompany()
        const { request } = owner
        await expect(auth.api.listMembers({ organizationId: id, ...page, request })).rejects.toMatchObject({
          code: 'INVALID_INPUT',
          fields: [field],
        })
      })
    })
  },
)

test('another node of PostgreSQL hears of it at once', async () => {
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

import { sql } from 'kysely'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { lockedSessions } from '../../../src/lifecycle/locked-sessions.ts'
import { validateSession } from '../../../src/session/validate-session.ts'
import { codeOf } from '../../support/code-of.ts'
import { databaseKinds, type OpenDatabase, type TestDatabase } from '../../support/database-kinds.ts'
import {
  type Company,
  type OrganizationAuth,
  type OrganizationPerson,
  startOrganizationAuth,
} from '../../support/organization-auth.ts'
import { literal, takeLog } from '../../support/stored-sessions.ts'
import { until } from '../../support/until.ts'

const databases = await databaseKinds()
/** `pnpm test:databases` runs all. */
const kinds = databases
  .flatMap((kind) => [
    { ...kind, migrate: true },
    { ...kind, migrate: false },
  ])
  .filter(({ name, migrate }) => migrate === (name === 'PostgreSQL') || process.env.DATABASES === 'all')

describe.each(kinds)('in $name with migrate: $migrate', ({ name, create, migrate }) => {
  let database: TestDatabase
  let auth: OrganizationAuth
  /** Another process. */
  let node: OpenDatabase
  beforeAll(async () => {
    database = await create()
    const { url } = database
    auth = await startOrganizationAuth({ url })
    if (!migrate) auth = await startOrganizationAuth({ url, migrate })
    node = await database.open({ columns: auth.database.columns, migrate })
  })

  const memberOf = ({ id }: Company, { userId }: OrganizationPerson) =>
    auth.db.selectFrom('member').selectAll().where('organizationId', '=', id).where('userId', '=', userId)

  /** Returns a listener for what the other process learns about a session from now on. */
  async function listen(person: OrganizationPerson) {
    const listener = vi.fn<() => void>()
    onTestFinished(node.revocations.subscribe(person, listener))
    // In SQLite, a new subscriber is called once.
    if (name === 'SQLite') await until(() => listener.mock.calls.length > 0)
    listener.mockClear()
    return listener
  }

  describe('the next call and the streams notice a membership that was changed by hand', () => {
    const row = ({ id, member }: Company) =>
      `"organizationId" = ${literal(id)} and "userId" = ${literal(member.userId)}`
    const CHANGES: {
      what: string
      change: (company: Company) => Promise<string>
      role: string | null
    }[] = [
      {
        what: 'another role',
        change: async (company) => `update member set role = 'admin' where ${row(company)}`,
        role: 'admin',
      },
      { what: 'removed', change: async (company) => `delete from member where ${row(company)}`, role: null },
      {
        what: 'transferred to another user',
        change: async (company) => {
          const { userId } = await auth.createPerson()
          return `update member set "userId" = ${literal(userId)} where ${row(company)}`
        },
        role: null,
      },
      {
        what: 'replaced',
        change: async (company) =>
          name === 'SQLite'
            ? `insert or replace into member select id, "organizationId", "userId", 'admin', "createdAt"
                from member where ${row(company)}`
            : `insert into member select id, "organizationId", "userId", 'admin', "createdAt"
                from member where ${row(company)} on conflict (id) do update set role = 'admin'`,
        role: 'admin',
      },
      {
        what: 'deleted with its organization',
        change: async ({ id }) => `delete from organization where id = ${literal(id)}`,
        role: null,
      },
      {
        what: 'deleted with all others',
        change: async () => (name === 'SQLite' ? 'delete from member' : 'truncate member cascade'),
        role: null,
      },
    ]

    test.each(CHANGES)('$what', async ({ what, change, role }) => {
      const company = await auth.createCompany()
      const { id, member } = company
      const inOther = await auth.signIn(member)
      const { organization } = await auth.api.createOrganization({ name: 'Own', request: inOther.request })
      const statement = await change(company)
      const listener = await listen(member)
      await database.run(statement)
      expect(await auth.activeOf(member)).toEqual([role === null ? null : id, role])
      await until(() => listener.mock.calls.length > 0)
      if (!what.endsWith('others')) expect(await auth.activeOf(inOther)).toEqual([organization.id, 'owner'])
      if (role !== null) return
      const { session } = await auth.api.getSession({ request: member.request })
      expect(session).toMatchObject({ activeOrganizationId: null, activeOrganizationRole: null })
      const members = auth.api.listMembers({ organizationId: id, request: member.request })
      expect(await codeOf(members)).toBe('ORGANIZATION_NOT_FOUND')
    })
  })

  test('announces nothing if no membership and no choice changes', async () => {
    if (name === 'SQLite') return
    const { member } = await auth.createCompany()
    await takeLog(database)
    const { userId } = member
    await database.run(`update session set "ipAddress" = '192.0.2.1' where "userId" = ${literal(userId)}`)
    await database.run(`update member set "createdAt" = now() where "userId" = ${literal(userId)}`)
    expect(await takeLog(database)).toEqual([])
    await database.run(`update member set role = 'admin' where "userId" = ${literal(userId)}`)
    expect(await takeLog(database)).toEqual([[null, userId]])
  })

  test('announces to every process that a session leaves its organization', async () => {
    const { member } = await auth.createCompany()
    const listener = await listen(member)
    await auth.api.setActiveOrganization({ organizationId: null, request: member.request })
    await until(() => listener.mock.calls.length > 0)
  })

  test('a session that chose an organization of others has none', async () => {
    const { id } = await auth.createCompany()
    const stranger = await auth.createPerson()
    await database.run(`update session set "activeOrganizationId" = ${literal(id)}
      where id = ${literal(stranger.sessionId)}`)
    expect(await auth.activeOf(stranger)).toEqual([null, null])
    const { organization } = await auth.api.createOrganization({ name: 'Own', request: stranger.request })
    expect(await auth.activeOf(stranger)).toEqual([organization.id, 'owner'])
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

  test('a transaction of a session reads the role, and a change by hand waits for it', async () => {
    const { member } = await auth.createCompany()
    const remove = `delete from member where "userId" = ${literal(member.userId)}`
    let removal = Promise.resolve()
    const found = await auth.database.db.transaction().execute(async (trx) => {
      const sessions = lockedSessions(trx, auth.database.locks)
      const locked = await sessions.findSession(member)
      // SQLite has one writer, and this connection would wait for it in vain.
      if (name === 'SQLite') return locked
      removal = database.run(remove)
      const isWaiting = async () => {
        const { rows } = await sql`select from pg_stat_activity
          where wait_event_type = 'Lock' and query = ${remove}`.execute(node.db)
        return rows.length > 0
      }
      await expect.poll(isWaiting).toBe(true)
      expect(await sessions.findSession(member)).toEqual(locked)
      return locked
    })
    await removal
    expect(found).toMatchObject({ activeOrganizationRole: 'member' })
  })
})

describe.each(databases)('in $name', ({ name, create }) => {
  test('a missing table is an outage, and never an old role', async () => {
    const database = await create()
    const auth = await startOrganizationAuth({ url: database.url })
    const { member } = await auth.createCompany()
    const key = { ...member, version: 1, issuer: 'http://localhost:3000' }
    const outcome = () => codeOf(validateSession(key, auth.database.sessions))
    const locked = () =>
      auth.database.db
        .transaction()
        .execute((trx) => validateSession(key, lockedSessions(trx, auth.database.locks)))
    expect(await auth.activeOf(member)).toMatchObject([expect.any(String), 'member'])
    await database.run('alter table member rename to former')
    expect(await outcome()).toBe('SESSIONS_UNAVAILABLE')
    expect(await codeOf(locked())).toBe('SESSIONS_UNAVAILABLE')
    const { request } = member
    expect(await codeOf(auth.api.getSession({ request }))).toBe('SESSIONS_UNAVAILABLE')
    // Opens while the table is missing.
    await database.open({ columns: auth.database.columns })
    await database.run('alter table former rename to member')
    expect(await auth.activeOf(member)).toMatchObject([expect.any(String), 'member'])
  })

  test('the triggers on memberships are created with their table, and return with the schema', async () => {
    if (name === 'SQLite') return
    const database = await create()
    const auth = await startOrganizationAuth({ url: database.url })
    const { member } = await auth.createCompany()
    await database.run(`update member set role = 'billing' where "userId" = ${literal(member.userId)}`)
    expect(await takeLog(database)).toContainEqual([null, member.userId])
    await database.run('drop schema sallyport cascade')
    await auth.db.selectFrom('sallyport.revocation_log').select('seq').execute()
    await takeLog(database)
    await database.run(`update member set role = 'admin' where "userId" = ${literal(member.userId)}`)
    expect(await takeLog(database)).toEqual([[null, member.userId]])
  })
})

import { banUser, commit } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { describe, expect, test } from 'vitest'
import { codeOf } from '../../support/code-of.ts'
import { insertInvitation } from '../../support/insert-organization.ts'
import {
  type Company,
  type OrganizationPerson,
  startOrganizationAuth,
} from '../../support/organization-auth.ts'
import { post } from '../../support/requests.ts'

const auth = await startOrganizationAuth({ roles: ['billing'] })
const { api, db, roleOf } = auth

interface Staff extends Company {
  readonly billing: OrganizationPerson
  readonly outsider: OrganizationPerson
  readonly otherOwner: OrganizationPerson
  readonly otherAdmin: OrganizationPerson
}

async function createStaff(): Promise<Staff> {
  const company = await auth.createCompany()
  const join = async (role: string) => {
    const person = await auth.createPerson()
    await auth.insertMember(company.id, person.userId, role)
    return person
  }
  return {
    ...company,
    billing: await join('billing'),
    otherOwner: await join('owner'),
    otherAdmin: await join('admin'),
    outsider: await auth.createPerson(),
  }
}

type Act = (staff: Staff, caller: OrganizationPerson) => Promise<unknown>

const invite =
  (role: string): Act =>
  ({ id }, { request }) =>
    api.inviteMember({ organizationId: id, email: `${crypto.randomUUID()}@example.com`, role, request })
const cancel =
  (role: string): Act =>
  async ({ id, otherOwner }, { request }) => {
    const inviterId = otherOwner.userId
    const invitation = { organizationId: id, inviterId, email: `${crypto.randomUUID()}@example.com` }
    const { clock, database } = auth
    const { invitationId } = await insertInvitation({ db: database.db, clock }, invitation)
    await db.updateTable('invitation').set({ role }).where('id', '=', invitationId).execute()
    return api.cancelInvitation({ organizationId: id, invitationId, request })
  }
const setRole =
  (who: 'otherOwner' | 'otherAdmin' | 'member', role: string): Act =>
  ({ id, [who]: { userId } }, { request }) =>
    api.setMemberRole({ organizationId: id, userId, role, request })
const remove =
  (who: 'otherOwner' | 'otherAdmin' | 'member'): Act =>
  ({ id, [who]: { userId } }, { request }) =>
    api.removeMember({ organizationId: id, userId, request })

/** The roles that may do each act. Users outside the organization never may. */
const EVERY_MEMBER = ['member', 'billing', 'admin', 'owner']
const MANAGERS = ['admin', 'owner']
const OWNERS = ['owner']
const ACTS: { what: string; act: Act; by: readonly string[] }[] = [
  {
    what: 'list the members',
    act: ({ id }, { request }) => api.listMembers({ organizationId: id, request }),
    by: EVERY_MEMBER,
  },
  {
    what: 'make it active',
    act: ({ id }, { request }) => api.setActiveOrganization({ organizationId: id, request }),
    by: EVERY_MEMBER,
  },
  {
    what: 'leave',
    act: ({ id }, { userId, request }) => api.removeMember({ organizationId: id, userId, request }),
    by: EVERY_MEMBER,
  },
  {
    what: 'list the invitations',
    act: ({ id }, { request }) => api.listInvitations({ organizationId: id, request }),
    by: MANAGERS,
  },
  {
    what: 'rename it',
    act: ({ id }, { request }) => api.updateOrganization({ organizationId: id, name: 'Emca', request }),
    by: MANAGERS,
  },
  { what: 'invite a member', act: invite('member'), by: MANAGERS },
  { what: 'invite with a role of the app', act: invite('billing'), by: MANAGERS },
  { what: 'invite an admin', act: invite('admin'), by: MANAGERS },
  { what: 'invite an owner', act: invite('owner'), by: OWNERS },
  { what: 'withdraw the invitation of a member', act: cancel('member'), by: MANAGERS },
  { what: 'withdraw the invitation of an owner', act: cancel('owner'), by: OWNERS },
  { what: 'make a member an admin', act: setRole('member', 'admin'), by: MANAGERS },
  { what: 'make an admin a member', act: setRole('otherAdmin', 'member'), by: MANAGERS },
  { what: 'make a member an owner', act: setRole('member', 'owner'), by: OWNERS },
  { what: 'make an owner a member', act: setRole('otherOwner', 'member'), by: OWNERS },
  { what: 'remove a member', act: remove('member'), by: MANAGERS },
  { what: 'remove an admin', act: remove('otherAdmin'), by: MANAGERS },
  { what: 'remove an owner', act: remove('otherOwner'), by: OWNERS },
  {
    what: 'delete it',
    act: ({ id }, { request }) => api.deleteOrganization({ organizationId: id, request }),
    by: OWNERS,
  },
]
const CALLERS = ['outsider', 'member', 'billing', 'admin', 'owner'] as const

// A rejected act changes nothing.
const unchanged = await createStaff()

describe.each(CALLERS)('as %s', (who) => {
  test.each(ACTS.map((row) => ({ ...row, may: row.by.includes(who) })))(
    'may $what: $may',
    async ({ what, act, may }) => {
      const staff = may ? await createStaff() : unchanged
      // A member who demotes themselves would not test the act.
      const caller = who === 'member' && what !== 'leave' ? await memberToo(staff) : staff[who]
      const answer = await act(staff, caller).then(
        () => 'done',
        async (error) => codeOf(Promise.reject(error)),
      )
      expect(answer).toBe(may ? 'done' : who === 'outsider' ? 'ORGANIZATION_NOT_FOUND' : 'ROLE_REQUIRED')
    },
  )
})

async function memberToo({ id }: Staff): Promise<OrganizationPerson> {
  const person = await auth.createPerson()
  await auth.insertMember(id, person.userId, 'member')
  return person
}

test("to other users an organization looks like one that doesn't exist, byte for byte", async () => {
  const { id, outsider, member } = await createStaff()
  const { path } = ENDPOINTS.removeMember
  const answer = async (organizationId: string) => {
    const body = { organizationId, userId: member.userId }
    const response = await auth.handler(post(path, body, { cookie: outsider.cookie }))
    return [response.status, [...response.headers], await response.text()]
  }
  expect(await answer(id)).toEqual(await answer(crypto.randomUUID()))
})

test("the role is read from the member's row, never from their session", async () => {
  const { id, admin } = await createStaff()
  await db
    .updateTable('session')
    .set({ activeOrganizationId: id })
    .where('id', '=', admin.sessionId)
    .execute()
  const { request } = admin
  expect(await codeOf(api.deleteOrganization({ organizationId: id, request }))).toBe('ROLE_REQUIRED')
})

describe('listMembers', () => {
  test('returns the members and their roles', async () => {
    const { id, owner, admin, member } = await auth.createCompany()
    const { members, nextCursor } = await api.listMembers({ organizationId: id, request: member.request })
    const ofAll = [
      [owner, 'owner'],
      [admin, 'admin'],
      [member, 'member'],
    ] as const
    const createdAt = auth.clock.now().toISOString()
    const expected = ofAll.map(([{ userId, email }, role]) => ({
      userId,
      email,
      role,
      name: 'Test User',
      image: null,
      createdAt,
    }))
    expect(members).toEqual(expect.arrayContaining(expected))
    expect(members).toHaveLength(3)
    expect(nextCursor).toBeNull()
  })
})

describe('setMemberRole', () => {
  test("changes the member's role, in their sessions too", async () => {
    const { id, owner, member } = await createStaff()
    const elsewhere = await auth.signIn(member)
    const { userId } = member
    const target = { organizationId: id, userId, request: owner.request }
    expect(await api.setMemberRole({ ...target, role: 'admin' })).toEqual({ success: true })
    expect(await roleOf(id, member)).toBe('admin')
    expect(await auth.activeOf(member)).toEqual([id, 'admin'])
    expect(await auth.activeOf(elsewhere)).toEqual([null, null])
    expect(auth.events.at(-1)).toMatchObject({
      type: 'organization:role-changed',
      userId,
      actorId: owner.userId,
      detail: { organizationId: id, from: 'member', role: 'admin' },
    })
  })

  test('records nothing if the role is already theirs', async () => {
    const { id, owner, admin } = await createStaff()
    const count = auth.events.length
    await api.setMemberRole({
      organizationId: id,
      userId: admin.userId,
      role: 'admin',
      request: owner.request,
    })
    expect(auth.events).toHaveLength(count)
  })

  test('fills no audit trail: the 301st change within an hour is rejected', async () => {
    const { id, owner, member } = await auth.createCompany()
    const set = (role: string) =>
      api.setMemberRole({ organizationId: id, userId: member.userId, role, request: owner.request })
    for (let change = 0; change < 300; change++) await set(change % 2 === 0 ? 'admin' : 'member')
    expect(await codeOf(set('admin'))).toBe('RATE_LIMITED')
    expect(await roleOf(id, member)).toBe('member')
  })

  test('accepts only existing roles and members', async () => {
    const { id, owner, member, outsider } = await createStaff()
    const set = (userId: string, role: string) =>
      api.setMemberRole({ organizationId: id, userId, role, request: owner.request })
    await expect(set(member.userId, 'king')).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      fields: ['role'],
    })
    expect(await codeOf(set(outsider.userId, 'admin'))).toBe('MEMBER_NOT_FOUND')
    await set(member.userId, 'billing')
    expect(await roleOf(id, member)).toBe('billing')
  })

  test('lets managers demote themselves', async () => {
    const { id, admin, otherOwner } = await createStaff()
    for (const { userId, request } of [admin, otherOwner])
      await api.setMemberRole({ organizationId: id, userId, role: 'member', request })
    expect([await roleOf(id, admin), await roleOf(id, otherOwner)]).toEqual(['member', 'member'])
    expect(auth.events.at(-1)).toMatchObject({ userId: otherOwner.userId, actorId: null })
  })
})

describe('removeMember', () => {
  test("ends the membership, and updates the user's sessions", async () => {
    const { id, admin, member } = await createStaff()
    const elsewhere = await auth.signIn(member)
    const { organization } = await api.createOrganization({ name: 'Own', request: elsewhere.request })
    const { userId } = member
    await api.removeMember({ organizationId: id, userId, request: admin.request })
    expect(await roleOf(id, member)).toBeNull()
    expect(await auth.activeOf(member)).toEqual([null, null])
    expect(await auth.activeOf(elsewhere)).toEqual([organization.id, 'owner'])
    expect(auth.events.at(-1)).toMatchObject({
      type: 'organization:member-removed',
      userId,
      actorId: admin.userId,
      detail: { organizationId: id },
    })
    const again = { organizationId: id, userId, request: admin.request }
    expect(await codeOf(api.removeMember(again))).toBe('MEMBER_NOT_FOUND')
    expect(await codeOf(api.listMembers({ organizationId: id, request: member.request }))).toBe(
      'ORGANIZATION_NOT_FOUND',
    )
  })

  test('lets every member leave', async () => {
    const { id, member } = await createStaff()
    await api.removeMember({ organizationId: id, userId: member.userId, request: member.request })
    expect(await roleOf(id, member)).toBeNull()
    expect(auth.events.at(-1)).toMatchObject({ userId: member.userId, actorId: null })
  })
})

describe('the last owner', () => {
  const ENDS: { what: string; end: (company: Company) => Promise<unknown> }[] = [
    {
      what: "can't leave",
      end: ({ id, owner: { userId, request } }) => api.removeMember({ organizationId: id, userId, request }),
    },
    {
      what: "can't demote themselves",
      end: ({ id, owner: { userId, request } }) =>
        api.setMemberRole({ organizationId: id, userId, role: 'admin', request }),
    },
    { what: "can't delete their account", end: ({ owner: { request } }) => api.deleteUser({ request }) },
  ]

  test.each(ENDS)('$what', async ({ end }) => {
    const company = await auth.createCompany()
    const { id, owner } = company
    expect(await codeOf(end(company))).toBe('OWNER_NEEDED')
    expect(await roleOf(id, owner)).toBe('owner')
    expect(await auth.activeOf(owner)).toEqual([id, 'owner'])
  })

  test.each(ENDS)('$what, unless there is another owner', async ({ end }) => {
    const company = await auth.createCompany()
    const { id, owner, admin } = company
    const { userId } = admin
    await api.setMemberRole({ organizationId: id, userId, role: 'owner', request: owner.request })
    await end(company)
    expect(await roleOf(id, owner)).not.toBe('owner')
    expect(await roleOf(id, admin)).toBe('owner')
  })

  test.each(ENDS)('$what while the only other owner is banned', async ({ end }) => {
    const company = await auth.createCompany()
    const { id, owner, admin } = company
    const { userId } = admin
    await api.setMemberRole({ organizationId: id, userId, role: 'owner', request: owner.request })
    await banUser(userId, auth.database, { now: auth.clock.now() })
    expect(await codeOf(end(company))).toBe('OWNER_NEEDED')
    await db.updateTable('user').set({ banExpires: auth.clock.now() }).where('id', '=', userId).execute()
    await end(company)
  })

  test("can delete an organization that they can't leave as its only member", async () => {
    const { request, userId } = await auth.createPerson()
    const { organization } = await api.createOrganization({ name: 'Own', request })
    const organizationId = organization.id
    expect(await codeOf(api.removeMember({ organizationId, userId, request }))).toBe('OWNER_NEEDED')
    await api.deleteOrganization({ organizationId, request })
  })
})

describe('a user who deletes their account', () => {
  test('is no longer a member, and an organization with no other members is deleted', async () => {
    const { id, member, owner } = await auth.createCompany()
    const { organization } = await api.createOrganization({ name: 'Own', request: member.request })
    await api.inviteMember({
      organizationId: organization.id,
      email: 'eve@example.com',
      role: 'owner',
      request: member.request,
    })
    await auth.takeInvitation()
    await api.deleteUser({ request: member.request })
    const left = await db
      .selectFrom('organization')
      .select('id')
      .where('id', 'in', [id, organization.id])
      .execute()
    expect(left).toEqual([{ id }])
    expect(await roleOf(id, owner)).toBe('owner')
    expect(await db.selectFrom('member').select('id').where('userId', '=', member.userId).execute()).toEqual(
      [],
    )
    const organizationId = organization.id
    expect(
      await db.selectFrom('invitation').select('id').where('organizationId', '=', organizationId).execute(),
    ).toEqual([])
  })

  test('is rejected as the last owner of one organization, and then leaves none', async () => {
    const company = await auth.createCompany()
    await api.createOrganization({ name: 'Own', request: company.owner.request })
    expect(await codeOf(api.deleteUser({ request: company.owner.request }))).toBe('OWNER_NEEDED')
    const { organizations } = await api.listOrganizations({ request: company.owner.request })
    expect(organizations).toHaveLength(2)
  })

  test.each([
    { by: 'the user', admin: null },
    { by: "an admin, in the app's code", admin: 'root' },
  ])('is recorded, by $by', async ({ admin: actorId }) => {
    const { id, member } = await auth.createCompany()
    const { organization } = await api.createOrganization({ name: 'Own', request: member.request })
    const { userId } = member
    if (actorId === null) await api.deleteUser({ request: member.request })
    else
      await commit(auth.database, async (trx, record) => {
        await trx.deleteFrom('user').where('id', '=', userId).execute()
        record({ type: 'user.deleted', userId, actorId, at: auth.clock.now() })
      })
    const rows = await db
      .selectFrom('sallyport.audit')
      .select(['type', 'userId', 'actorId', 'detail'])
      .where('type', 'in', ['organization:member-removed', 'organization:deleted'])
      .execute()
    const all = rows.map(({ detail, ...row }) => ({ ...row, ...JSON.parse(detail) }))
    const records = all.filter(({ organizationId }) => [id, organization.id].includes(organizationId))
    const removed = { type: 'organization:member-removed', userId, actorId }
    const deleted = { type: 'organization:deleted', userId: null, actorId: actorId ?? userId }
    expect(records).toHaveLength(3)
    expect(records).toEqual(
      expect.arrayContaining([
        { ...removed, organizationId: id },
        { ...removed, organizationId: organization.id },
        { ...deleted, organizationId: organization.id },
      ]),
    )
  })

  test("can't be deleted in the database while they are a member, which could leave no owner", async () => {
    const { owner } = await auth.createCompany()
    await expect(db.deleteFrom('user').where('id', '=', owner.userId).execute()).rejects.toThrow(
      /FOREIGN KEY/,
    )
  })
})

import { ConfigurationError } from '@sallyport/core'
import type {
  ActiveOrganizationResponse,
  InvitationResponse,
  MemberResponse,
  OrganizationResponse,
} from '@sallyport/core/internal/protocol'
import { organization } from '@sallyport/core/plugins/organization'
import { sql } from 'kysely'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { codeOf } from '../../support/code-of.ts'
import { startOrganizationAuth } from '../../support/organization-auth.ts'

const auth = await startOrganizationAuth({ maxOrganizationsPerUser: 3 })
const { api, db } = auth

const rowOf = (id: string) =>
  db.selectFrom('organization').selectAll().where('id', '=', id).executeTakeFirst()
const eventsOf = (organizationId: string) =>
  auth.events.flatMap((event) =>
    'detail' in event && event.detail?.organizationId === organizationId
      ? [{ ...event, detail: { ...event.detail, organizationId: 'it' } }]
      : [],
  )

test.each([
  ['roles', { roles: ['owner'] }, 'organization({ roles }): "owner"'],
  ['roles', { roles: ['billing', 'billing'] }, 'organization({ roles }): "billing"'],
  ['roles', { roles: [''] }, 'organization({ roles }): ""'],
  ['roles', { roles: ['a b'] }, 'organization({ roles }): "a b"'],
  ['maxOrganizationsPerUser', { maxOrganizationsPerUser: 0 }, 'maxOrganizationsPerUser'],
  ['invitationExpiresInSeconds', { invitationExpiresInSeconds: 0.5 }, 'invitationExpiresInSeconds'],
  ['invitationExpiresInSeconds', { invitationExpiresInSeconds: 1e12 }, 'invitationExpiresInSeconds'],
  ['limits', { limits: { recipient: { points: 0, duration: 1 } } }, 'limits.recipient.points'],
])('rejects invalid %s at startup: %j', (_name, options, message) => {
  expect(() => organization(options)).toThrow(ConfigurationError)
  expect(() => organization(options)).toThrow(message)
})

describe('createOrganization', () => {
  test('makes the caller its owner, and makes it active in their session', async () => {
    const ada = await auth.createPerson()
    const { organization } = await api.createOrganization({ name: ' Acme & Co. ', request: ada.request })
    expect(organization).toEqual({
      id: expect.any(String),
      name: 'Acme & Co.',
      slug: 'acme-co',
      role: 'owner',
      createdAt: auth.clock.now().toISOString(),
    })
    const { id, name, slug } = organization
    expect(await rowOf(id)).toMatchObject({ id, name, slug })
    expect(await auth.activeOf(ada)).toEqual([id, 'owner'])
    expect(eventsOf(id)).toMatchObject([
      { type: 'organization:created', userId: ada.userId, actorId: null, detail: { organizationId: 'it' } },
    ])
  })

  test("leaves a session's active organization unchanged", async () => {
    const ada = await auth.createPerson()
    const { organization: first } = await api.createOrganization({ name: 'First', request: ada.request })
    await api.createOrganization({ name: 'Second', request: ada.request })
    expect(await auth.activeOf(ada)).toEqual([first.id, 'owner'])
  })

  test.each([
    { name: 'Acme', slug: '' },
    { name: 'Acme', slug: 'Acme' },
    { name: 'Acme', slug: '-acme' },
    { name: 'Acme', slug: 'ac--me' },
    { name: 'Acme', slug: 'acme/..' },
    { name: 'Acme', slug: 'a'.repeat(65) },
    { name: '' },
    { name: '  ' },
    { name: 'a'.repeat(129) },
    { name: 'Acme\nBcc: everyone' },
    { name: 'A\u202Ecme' },
    { name: 'Acme\u200B' },
    { name: 'Acme: https://evil.example' },
  ])('rejects %j', async (input) => {
    const { request } = await auth.createPerson()
    await expect(api.createOrganization({ ...input, request })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      fields: [input.slug === undefined ? 'name' : 'slug'],
    })
  })

  test.each([
    ['Café Ümlaut', 'cafe-umlaut'],
    ['株式会社', 'organization'],
    [`${'long '.repeat(24)}name`, 'long-long-long-long-long-long-long-long'],
  ])('derives from the name %s the slug %s, and another one the second time', async (name, slug) => {
    const { request } = await auth.createPerson()
    expect((await api.createOrganization({ name, request })).organization.slug).toBe(slug)
    const second = await api.createOrganization({ name, request })
    expect(second.organization.slug).toBe(`${slug}-${second.organization.id.slice(0, 8)}`)
  })

  test('rejects a taken slug, and writes nothing', async () => {
    const { request, userId } = await auth.createPerson()
    await api.createOrganization({ name: 'Acme', slug: 'taken', request })
    expect(await codeOf(api.createOrganization({ name: 'Another', slug: 'taken', request }))).toBe(
      'SLUG_TAKEN',
    )
    expect(await db.selectFrom('member').select('id').where('userId', '=', userId).execute()).toHaveLength(1)
  })

  test('rejects a user who is in the maximum number of organizations', async () => {
    const { request } = await auth.createPerson()
    for (const name of ['a', 'b', 'c']) await api.createOrganization({ name, request })
    expect(await codeOf(api.createOrganization({ name: 'd', slug: 'one-more', request }))).toBe(
      'TOO_MANY_ORGANIZATIONS',
    )
    expect(await db.selectFrom('organization').where('slug', '=', 'one-more').select('id').execute()).toEqual(
      [],
    )
  })

  test('asks the app whether the user may create one', async () => {
    const strict = await startOrganizationAuth({ allowCreate: async ({ role }) => role === 'admin' })
    const [user, root] = [await strict.createPerson(), await strict.createPerson('admin')]
    expect(await codeOf(strict.api.createOrganization({ name: 'Acme', request: user.request }))).toBe(
      'ROLE_REQUIRED',
    )
    await strict.api.createOrganization({ name: 'Acme', request: root.request })
  })

  test('counts attempts', async () => {
    const limited = await startOrganizationAuth({ limits: { creations: { points: 1, duration: 60 } } })
    const { request } = await limited.createPerson()
    await limited.api.createOrganization({ name: 'a', request })
    expect(await codeOf(limited.api.createOrganization({ name: 'b', request }))).toBe('RATE_LIMITED')
  })
})

describe('listOrganizations', () => {
  test("lists the caller's own by name, with their role in each", async () => {
    const company = await auth.createCompany()
    await api.createOrganization({ name: 'Zebra', request: company.member.request })
    await api.createOrganization({ name: 'Aardvark', request: company.member.request })
    const { organizations } = await api.listOrganizations({ request: company.member.request })
    expect(organizations.map(({ name, role }) => [name, role])).toEqual([
      ['Aardvark', 'owner'],
      ['Acme', 'member'],
      ['Zebra', 'owner'],
    ])
    const outsider = await auth.createPerson()
    expect(await api.listOrganizations({ request: outsider.request })).toEqual({ organizations: [] })
  })

  test("returns an empty date for one that was changed by hand and can't be read", async () => {
    const { member, id } = await auth.createCompany()
    const changed = db.updateTable('organization').set({ createdAt: sql`'long ago'` })
    await changed.where('id', '=', id).execute()
    const { organizations } = await api.listOrganizations({ request: member.request })
    expect(organizations).toMatchObject([{ createdAt: '' }])
  })
})

describe('updateOrganization', () => {
  test('changes the given fields, and leaves the others', async () => {
    const { id, owner } = await auth.createCompany()
    const { slug } = (await rowOf(id)) ?? {}
    const renamed = await api.updateOrganization({ organizationId: id, name: 'Emca', request: owner.request })
    expect(renamed.organization).toMatchObject({ id, name: 'Emca', slug, role: 'owner' })
    expect(await rowOf(id)).toMatchObject({ name: 'Emca', slug })
    const moved = await api.updateOrganization({
      organizationId: id,
      slug: `x-${id}`,
      request: owner.request,
    })
    expect(moved.organization).toMatchObject({ name: 'Emca', slug: `x-${id}` })
    expect(await rowOf(id)).toMatchObject({ name: 'Emca', slug: `x-${id}` })
    expect(eventsOf(id).slice(-1)).toMatchObject([
      {
        type: 'organization:updated',
        userId: null,
        actorId: owner.userId,
        detail: { organizationId: 'it', name: 'Emca', slug: `x-${id}` },
      },
    ])
  })

  test('rejects a taken slug, and accepts its current one', async () => {
    const [{ id, owner }, other] = [await auth.createCompany(), await auth.createCompany()]
    const rows = [await rowOf(id), await rowOf(other.id)]
    const slugs = rows.map((row) => row?.slug ?? '')
    const update = (slug = '') => api.updateOrganization({ organizationId: id, slug, request: owner.request })
    expect(await codeOf(update(slugs[1]))).toBe('SLUG_TAKEN')
    const events = eventsOf(id)
    expect((await update(slugs[0])).organization.slug).toBe(slugs[0])
    expect(eventsOf(id)).toEqual(events)
  })
})

describe('deleteOrganization', () => {
  test('deletes it with its members and invitations, and reports each one', async () => {
    const { id, owner, admin, member } = await auth.createCompany()
    await api.inviteMember({
      organizationId: id,
      email: 'eve@example.com',
      role: 'member',
      request: owner.request,
    })
    await auth.takeInvitation()
    const { request } = owner
    expect(await api.deleteOrganization({ organizationId: id, request })).toEqual({ success: true })
    for (const table of ['member', 'invitation'] as const)
      expect(await db.selectFrom(table).select('id').where('organizationId', '=', id).execute()).toEqual([])
    expect(await rowOf(id)).toBeUndefined()
    for (const person of [owner, admin, member]) expect(await auth.activeOf(person)).toEqual([null, null])
    expect(await codeOf(api.deleteOrganization({ organizationId: id, request }))).toBe(
      'ORGANIZATION_NOT_FOUND',
    )
    const events = eventsOf(id).slice(-4)
    expect(events.slice(-1)).toMatchObject([
      { type: 'organization:deleted', userId: null, actorId: owner.userId },
    ])
    const removed = events.slice(0, 3)
    expect(removed.every(({ type }) => type === 'organization:member-removed')).toBe(true)
    const actors = new Map(removed.map(({ userId, actorId }) => [userId, actorId]))
    const others = [admin, member].map(({ userId }) => [userId, owner.userId] as const)
    expect(actors).toEqual(new Map([[owner.userId, null], ...others]))
  })
})

describe('setActiveOrganization', () => {
  test('changes one session, and no other of the user', async () => {
    const { id, member } = await auth.createCompany()
    const other = await auth.signIn(member)
    const { organization } = await api.createOrganization({ name: 'Own', request: other.request })
    const [active, none] = [
      { activeOrganizationId: id, activeOrganizationRole: 'member' },
      { activeOrganizationId: null, activeOrganizationRole: null },
    ]
    expect(await auth.activeOf(member)).toEqual([id, 'member'])
    expect(await auth.activeOf(other)).toEqual([organization.id, 'owner'])
    expect(await api.setActiveOrganization({ organizationId: id, request: other.request })).toEqual(active)
    expect(await auth.activeOf(other)).toEqual([id, 'member'])
    expect(await api.setActiveOrganization({ organizationId: null, request: other.request })).toEqual(none)
    expect(await auth.activeOf(other)).toEqual([null, null])
    expect(await auth.activeOf(member)).toEqual([id, 'member'])
    expect(auth.events.at(-1)).toMatchObject({
      type: 'organization:activated',
      userId: member.userId,
      actorId: null,
      detail: { organizationId: null, sessionId: other.sessionId },
    })
  })

  test('is returned by Step 2, and by GET /session', async () => {
    const { id, admin } = await auth.createCompany()
    const active = { activeOrganizationId: id, activeOrganizationRole: 'admin' }
    expect(await auth.database.sessions.findSession(admin)).toMatchObject(active)
    expect((await api.getSession({ request: admin.request })).session).toMatchObject(active)
  })

  test("rejects a user who isn't a member, and leaves the session unchanged", async () => {
    const [company, other] = [await auth.createCompany(), await auth.createCompany()]
    const { request } = company.member
    expect(await codeOf(api.setActiveOrganization({ organizationId: other.id, request }))).toBe(
      'ORGANIZATION_NOT_FOUND',
    )
    expect(await auth.activeOf(company.member)).toEqual([company.id, 'member'])
  })

  test('a new session has none', async () => {
    const { owner } = await auth.createCompany()
    expect(await auth.activeOf(await auth.signIn(owner))).toEqual([null, null])
  })
})

test('the types reach auth.api', () => {
  type Api = typeof api
  type Input<Name extends keyof Api> = Omit<Parameters<Api[Name]>[0], 'request' | 'remoteAddress'>
  type Output<Name extends keyof Api> = Awaited<ReturnType<Api[Name]>>
  expectTypeOf<Input<'createOrganization'>>().toEqualTypeOf<{ name: string; slug?: string }>()
  expectTypeOf<Input<'inviteMember'>>().toEqualTypeOf<{
    organizationId: string
    email: string
    role: string
  }>()
  expectTypeOf<Input<'acceptInvitation'>>().toEqualTypeOf<{ token: string }>()
  expectTypeOf<Input<'setActiveOrganization'>>().toEqualTypeOf<{ organizationId: string | null }>()
  expectTypeOf<Input<'listMembers'>>().toEqualTypeOf<{
    organizationId: string
    limit?: number
    cursor?: string
  }>()
  expectTypeOf<Output<'createOrganization'>>().toEqualTypeOf<{ organization: OrganizationResponse }>()
  expectTypeOf<Output<'inviteMember'>>().toEqualTypeOf<{ invitation: InvitationResponse }>()
  expectTypeOf<Output<'setActiveOrganization'>>().toEqualTypeOf<ActiveOrganizationResponse>()
  expectTypeOf<Output<'listMembers'>>().toEqualTypeOf<{
    members: MemberResponse[]
    nextCursor: string | null
  }>()
  expectTypeOf<Output<'getSession'>['session']['activeOrganizationId']>().toEqualTypeOf<string | null>()
  expectTypeOf<Output<'getSession'>['session']['activeOrganizationRole']>().toEqualTypeOf<string | null>()
  expect(api).toHaveProperty('createOrganization', expect.any(Function))
})

import { banUser } from '@sallyport/core/auth'
import { describe, expect, test } from 'vitest'
import { hashSecret } from '../../../src/session/secret.ts'
import { codeOf } from '../../support/code-of.ts'
import { type OrganizationPerson, startOrganizationAuth } from '../../support/organization-auth.ts'
import { testPostgres } from '../../support/postgres.ts'

const WEEK_SECONDS = 7 * 24 * 60 * 60
const auth = await startOrganizationAuth()
const { api, db } = auth
const postgres = await testPostgres()

const address = () => `${crypto.randomUUID()}@example.com`
const invite = (organizationId: string, email: string, { request }: OrganizationPerson, role = 'member') =>
  api.inviteMember({ organizationId, email, role, request })
const accept = (token: string, { request }: OrganizationPerson) => api.acceptInvitation({ token, request })
const openIn = async (organizationId: string, { request }: OrganizationPerson) =>
  (await api.listInvitations({ organizationId, request })).invitations
/** Returns the actors of the records that say that an invitation ended. */
const endedBy = ({ id }: { id: string }) =>
  auth.events.flatMap((event) =>
    event.type === 'organization:invitation-canceled' && event.detail?.invitationId === id
      ? [event.actorId]
      : [],
  )
const rolesIn = async (organizationId: string, { request }: OrganizationPerson) =>
  (await api.listMembers({ organizationId, request })).members.map(({ role }) => role)

/** Creates a company with an invitation that a new user may accept. */
async function createInvitation(role = 'member') {
  const company = await auth.createCompany()
  const guest = await auth.createPerson()
  const { invitation } = await invite(company.id, guest.email, company.owner, role)
  return { ...company, guest, invitation, delivery: await auth.takeInvitation() }
}

describe('an invitation', () => {
  test("is delivered after the response, which doesn't contain the token", async () => {
    const { id, owner } = await auth.createCompany()
    const answer = await invite(id, ' Eve@Example.COM ', owner, 'admin')
    const { token, ...delivery } = await auth.takeInvitation()
    const expiresAt = new Date(auth.clock.now().getTime() + WEEK_SECONDS * 1000)
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(delivery).toEqual({
      email: 'eve@example.com',
      role: 'admin',
      expiresAt,
      organization: { id, name: 'Acme', slug: expect.stringMatching(/^acme/) },
      inviter: { id: owner.userId, name: 'Test User', email: owner.email },
    })
    expect(answer).toEqual({
      invitation: {
        id: expect.any(String),
        email: 'eve@example.com',
        role: 'admin',
        inviterId: owner.userId,
        createdAt: auth.clock.now().toISOString(),
        expiresAt: expiresAt.toISOString(),
      },
    })
    expect(await openIn(id, owner)).toEqual([answer.invitation])
    expect(auth.events.at(-1)).toMatchObject({
      type: 'organization:invitation-created',
      at: auth.clock.now(),
      userId: null,
      actorId: owner.userId,
      detail: { organizationId: id, invitationId: answer.invitation.id, role: 'admin' },
    })
  })

  test('is stored as a hash', async () => {
    const { invitation, delivery } = await createInvitation()
    const row = db.selectFrom('invitation').selectAll().where('id', '=', invitation.id)
    const { token } = await row.executeTakeFirstOrThrow()
    expect(token).toBe(await hashSecret(delivery.token))
    expect(await codeOf(accept(token, (await createInvitation()).guest))).toBe('INVITATION_INVALID')
  })

  test('makes the user who accepts it a member with its role, once', async () => {
    const { id, owner, guest, invitation, delivery } = await createInvitation('admin')
    const { organization } = await accept(delivery.token, guest)
    expect(organization).toMatchObject({ id, name: 'Acme', role: 'admin' })
    expect(await rolesIn(id, guest)).toEqual(expect.arrayContaining(['owner', 'admin', 'member', 'admin']))
    expect(await auth.activeOf(guest)).toEqual([id, 'admin'])
    expect(await openIn(id, owner)).toEqual([])
    expect(auth.events.at(-1)).toMatchObject({
      type: 'organization:member-added',
      userId: guest.userId,
      actorId: null,
      detail: { organizationId: id, role: 'admin', invitationId: invitation.id },
    })
    await api.removeMember({ organizationId: id, userId: guest.userId, request: guest.request })
    expect(await codeOf(accept(delivery.token, guest))).toBe('INVITATION_INVALID')
  })

  test('leaves the active organization of the user who accepts it', async () => {
    const { id, guest, delivery } = await createInvitation()
    const { organization } = await api.createOrganization({ name: 'Own', request: guest.request })
    await accept(delivery.token, guest)
    expect(await auth.activeOf(guest)).toEqual([organization.id, 'owner'])
    expect(await rolesIn(id, guest)).toHaveLength(4)
  })

  test('is valid until it expires, and not at that very moment', async () => {
    const { id, owner, guest, delivery } = await createInvitation()
    auth.clock.advance(WEEK_SECONDS)
    const [late, lateOwner] = [await auth.signIn(guest), await auth.signIn(owner)]
    expect(await codeOf(accept(delivery.token, late))).toBe('INVITATION_INVALID')
    expect(await openIn(id, lateOwner)).toEqual([])
    await auth.prune()
    expect(await db.selectFrom('invitation').select('id').where('organizationId', '=', id).execute()).toEqual(
      [],
    )
    auth.clock.advance(-1)
    const early = await createInvitation()
    auth.clock.advance(WEEK_SECONDS - 1)
    await accept(early.delivery.token, await auth.signIn(early.guest))
  })

  test("is for one email address, in any case, and isn't used up by another account", async () => {
    const { id, guest, delivery, member } = await createInvitation()
    const another = await auth.createPerson()
    expect(await codeOf(accept(delivery.token, another))).toBe('INVITATION_FOR_ANOTHER')
    expect(await codeOf(accept(delivery.token, member))).toBe('INVITATION_FOR_ANOTHER')
    const email = guest.email.toUpperCase()
    await db.updateTable('user').set({ email }).where('id', '=', guest.userId).execute()
    expect((await accept(delivery.token, guest)).organization.id).toBe(id)
  })

  test('is not for another mailbox, whose Kelvin sign is a k in lower case', async () => {
    const { id, owner } = await auth.createCompany()
    const guest = await auth.createPerson()
    await invite(id, `k${guest.email}`, owner)
    const { token } = await auth.takeInvitation()
    const email = `\u212a${guest.email}`
    await db.updateTable('user').set({ email }).where('id', '=', guest.userId).execute()
    expect(await codeOf(accept(token, guest))).toBe('INVITATION_FOR_ANOTHER')
  })

  test("uses the account's current email", async () => {
    const { guest, delivery } = await createInvitation()
    await db.updateTable('user').set({ email: address() }).where('id', '=', guest.userId).execute()
    expect(await codeOf(accept(delivery.token, guest))).toBe('INVITATION_FOR_ANOTHER')
  })

  test('replaces the previous one', async () => {
    const { id, guest, owner, invitation, delivery } = await createInvitation()
    const second = await invite(id, guest.email, owner, 'admin')
    expect(second.invitation.id).not.toBe(invitation.id)
    expect(await openIn(id, owner)).toEqual([second.invitation])
    expect(endedBy(invitation)).toEqual([owner.userId])
    expect(await codeOf(accept(delivery.token, guest))).toBe('INVITATION_INVALID')
    const { token } = await auth.takeInvitation()
    expect((await accept(token, guest)).organization.role).toBe('admin')
  })

  test('by an owner is not replaced by an admin', async () => {
    const { id, guest, admin, delivery } = await createInvitation('owner')
    expect(await codeOf(invite(id, guest.email, admin))).toBe('ROLE_REQUIRED')
    expect((await accept(delivery.token, guest)).organization.role).toBe('owner')
  })

  test('by an owner is replaced by an admin once it has expired', async () => {
    const { id, guest, admin, invitation: former } = await createInvitation('owner')
    auth.clock.advance(WEEK_SECONDS)
    const { invitation } = await invite(id, guest.email, await auth.signIn(admin))
    expect(endedBy(former)).toEqual([])
    expect(await openIn(id, await auth.signIn(admin))).toEqual([invitation])
    await auth.takeInvitation()
  })

  test("can't be created for a member, or used by one", async () => {
    const { id, owner, member, guest, delivery } = await createInvitation()
    expect(await codeOf(invite(id, member.email, owner))).toBe('ALREADY_MEMBER')
    await auth.insertMember(id, guest.userId, 'member')
    expect(await codeOf(accept(delivery.token, guest))).toBe('ALREADY_MEMBER')
  })

  test('can be withdrawn', async () => {
    const { id, admin, guest, invitation, delivery } = await createInvitation()
    const key = { organizationId: id, invitationId: invitation.id }
    const another = await auth.createCompany()
    const wrong = { organizationId: another.id, invitationId: invitation.id, request: another.owner.request }
    expect(await codeOf(api.cancelInvitation(wrong))).toBe('INVITATION_NOT_FOUND')
    expect(await api.cancelInvitation({ ...key, request: admin.request })).toEqual({ success: true })
    expect(auth.events.at(-1)).toMatchObject({
      type: 'organization:invitation-canceled',
      userId: null,
      actorId: admin.userId,
      detail: key,
    })
    expect(await codeOf(api.cancelInvitation({ ...key, request: admin.request }))).toBe(
      'INVITATION_NOT_FOUND',
    )
    expect(await codeOf(accept(delivery.token, guest))).toBe('INVITATION_INVALID')
  })

  test.each([
    { what: 'is removed', as: 'admin', end: 'remove', counts: false },
    { what: 'may no longer invite', as: 'admin', end: 'member', counts: false },
    {
      what: 'may no longer give that role',
      as: 'owner',
      role: 'owner',
      end: 'admin',
      counts: false,
    },
    { what: 'may still give that role', as: 'owner', end: 'admin', counts: true },
    { what: 'has been given a higher role', as: 'admin', end: 'owner', counts: true },
  ])('by a user who $what is valid: $counts', async ({ as, role, end, counts }) => {
    const { id, owner } = await auth.createCompany()
    const inviter = await auth.createPerson()
    await auth.insertMember(id, inviter.userId, as)
    const guest = await auth.createPerson()
    const { invitation } = await invite(id, guest.email, inviter, role)
    const { token } = await auth.takeInvitation()
    const target = { organizationId: id, userId: inviter.userId, request: owner.request }
    if (end === 'remove') await api.removeMember(target)
    else await api.setMemberRole({ ...target, role: end })
    expect(await openIn(id, owner)).toHaveLength(counts ? 1 : 0)
    expect(endedBy(invitation)).toEqual(counts ? [] : [owner.userId])
    if (counts) await accept(token, guest)
    else expect(await codeOf(accept(token, guest))).toBe('INVITATION_INVALID')
  })

  test.each([
    { who: 'was removed by an owner', by: 'owner', role: 'owner', counts: false },
    { who: 'was removed by an admin', by: 'admin', role: 'member', counts: false },
    { who: 'was removed by an admin, who may not cancel it', by: 'admin', role: 'owner', counts: true },
    { who: 'has left', by: 'guest', role: 'member', counts: true },
  ] as const)('to the new email of a member who $who is valid: $counts', async ({ by, role, counts }) => {
    const company = await auth.createCompany()
    const { id, owner } = company
    const people = { ...company, guest: await auth.createPerson() }
    const { userId } = people.guest
    await auth.insertMember(id, userId, 'member')
    const email = address()
    const { invitation } = await invite(id, email, owner, role)
    const { token } = await auth.takeInvitation()
    await db.updateTable('user').set({ email }).where('id', '=', userId).execute()
    await api.removeMember({ organizationId: id, userId, request: people[by].request })
    expect(endedBy(invitation)).toEqual(counts ? [] : [people[by].userId])
    if (counts) await accept(token, people.guest)
    else expect(await codeOf(accept(token, people.guest))).toBe('INVITATION_INVALID')
  })

  test.each([
    { from: 'admin', to: 'member', role: 'member' },
    { from: 'owner', to: 'admin', role: 'owner' },
  ])('to become $role is not valid if its sender was demoted by hand, to $to', async ({ from, to, role }) => {
    const { id } = await auth.createCompany()
    const [inviter, guest] = [await auth.createPerson(), await auth.createPerson()]
    await auth.insertMember(id, inviter.userId, from)
    await invite(id, guest.email, inviter, role)
    const { token } = await auth.takeInvitation()
    const members = db.updateTable('member').set({ role: to }).where('organizationId', '=', id)
    await members.where('userId', '=', inviter.userId).execute()
    expect(await codeOf(accept(token, guest))).toBe('INVITATION_INVALID')
  })

  test('is deleted with the account of the user who created it', async () => {
    const { id, owner } = await auth.createCompany()
    const inviter = await auth.createPerson()
    await auth.insertMember(id, inviter.userId, 'admin')
    const { invitation } = await invite(id, address(), inviter)
    await auth.takeInvitation()
    await api.deleteUser({ request: inviter.request })
    expect(await openIn(id, owner)).toEqual([])
    expect(endedBy(invitation)).toEqual([inviter.userId])
  })

  test('is not recorded as canceled if its organization is deleted with its last member', async () => {
    const inviter = await auth.createPerson()
    const { organization } = await api.createOrganization({ name: 'Acme', request: inviter.request })
    const { invitation } = await invite(organization.id, address(), inviter)
    await auth.takeInvitation()
    await api.deleteUser({ request: inviter.request })
    expect(endedBy(invitation)).toEqual([])
  })

  test('is rejected for a user who is in the maximum number of organizations', async () => {
    const { guest, delivery } = await createInvitation()
    const createdAt = auth.clock.now()
    for (let count = 0; count < 100; count++) {
      const id = crypto.randomUUID()
      await db.insertInto('organization').values({ id, name: 'Acme', slug: id, createdAt }).execute()
      await auth.insertMember(id, guest.userId, 'member')
    }
    expect(await codeOf(accept(delivery.token, guest))).toBe('TOO_MANY_ORGANIZATIONS')
  })
})

test.each([
  ['SQLite', auth],
  ['PostgreSQL', await startOrganizationAuth({ url: await postgres.createDatabase('app') })],
])("an invitation isn't valid while its sender is banned, in %s", async (_name, { api, ...auth }) => {
  const { id, owner, admin } = await auth.createCompany()
  const guest = await auth.createPerson()
  const invitation = { organizationId: id, email: guest.email, role: 'member', request: admin.request }
  await api.inviteMember(invitation)
  const { token } = await auth.takeInvitation()
  const expires = new Date(auth.clock.now().getTime() + 60_000)
  await banUser(admin.userId, auth.database, { now: auth.clock.now(), expires })
  expect(await codeOf(api.acceptInvitation({ token, request: guest.request }))).toBe('INVITATION_INVALID')
  const { invitations } = await api.listInvitations({ organizationId: id, request: owner.request })
  expect(invitations).toHaveLength(1)
  auth.clock.advance(60)
  const { organization } = await api.acceptInvitation({ token, request: guest.request })
  expect(organization.id).toBe(id)
})

test.each([
  ['an unknown role', { email: 'eve@example.com', role: 'king' }, 'role'],
  ['an invalid email address', { email: 'eve', role: 'member' }, 'email'],
])('%s: INVALID_INPUT', async (_what, input, field) => {
  const { id, owner } = await auth.createCompany()
  await expect(
    api.inviteMember({ organizationId: id, ...input, request: owner.request }),
  ).rejects.toMatchObject({ code: 'INVALID_INPUT', fields: [field] })
})

test('can give a role of the app', async () => {
  const { api, createCompany, takeInvitation } = await startOrganizationAuth({ roles: ['billing'] })
  const { id, admin } = await createCompany()
  const invitation = { organizationId: id, email: address(), role: 'billing', request: admin.request }
  expect((await api.inviteMember(invitation)).invitation.role).toBe('billing')
  await takeInvitation()
})

test('the response is the same for an address with an account and one without', async () => {
  const { id, owner, guest } = await createInvitation()
  const { invitation: known } = await invite(id, guest.email, owner)
  const { invitation: unknown } = await invite(id, address(), owner)
  const constant = { id: '', email: '' }
  expect({ ...known, ...constant }).toEqual({ ...unknown, ...constant })
  await auth.takeInvitation()
  await auth.takeInvitation()
})

test('rejects invitations without deliverInvitation', async () => {
  const silent = await startOrganizationAuth({ deliverInvitation: null })
  const { id, owner } = await silent.createCompany()
  const invitation = { organizationId: id, email: address(), role: 'member', request: owner.request }
  expect(await codeOf(silent.api.inviteMember(invitation))).toBe('INVITATIONS_UNAVAILABLE')
})

test('a failed delivery is reported to onFailure', async () => {
  const failing = await startOrganizationAuth({
    deliverInvitation: async () => {
      throw new Error('no mail server')
    },
    invitationExpiresInSeconds: 60,
  })
  const { id, owner } = await failing.createCompany()
  const invitation = { organizationId: id, email: address(), role: 'member', request: owner.request }
  const { createdAt, expiresAt } = (await failing.api.inviteMember(invitation)).invitation
  expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(60_000)
  await expect.poll(() => failing.errors).toEqual([new Error('no mail server')])
})

describe('the limits', () => {
  const one = { points: 1, duration: 60 }

  test('count the invitations of a user', async () => {
    const limited = await startOrganizationAuth({ limits: { invitations: one } })
    const { id, owner, admin } = await limited.createCompany()
    const send = ({ request }: OrganizationPerson) =>
      limited.api.inviteMember({ organizationId: id, email: address(), role: 'member', request })
    await send(owner)
    expect(await codeOf(send(owner))).toBe('RATE_LIMITED')
    await send(admin)
  })

  test('count the invitations of a user to an address, from all their organizations', async () => {
    const limits = { recipient: one, recipientOverall: { points: 2, duration: 60 } }
    const limited = await startOrganizationAuth({ limits })
    const email = address()
    const send = async ({ request }: OrganizationPerson) => {
      const { organization } = await limited.api.createOrganization({ name: 'Acme', request })
      await limited.api.inviteMember({ organizationId: organization.id, email, role: 'member', request })
    }
    const sender = await limited.createPerson()
    await send(sender)
    expect(await codeOf(send(sender))).toBe('RATE_LIMITED')
    expect(await codeOf(send(sender))).toBe('RATE_LIMITED')
    await send(await limited.createPerson())
  })
})

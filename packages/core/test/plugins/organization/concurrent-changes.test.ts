import type { AuthTransaction } from '@sallyport/core/auth'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { withOwnTables } from '../../../src/plugins/organization/tables.ts'
import { codeOf } from '../../support/code-of.ts'
import {
  type Company,
  type OrganizationPerson,
  startOrganizationAuth,
} from '../../support/organization-auth.ts'
import { testPostgres } from '../../support/postgres.ts'
import { createRandom } from '../../support/random.ts'

const server = await testPostgres({ deadlock_timeout: '50ms' })
const options = { maxOrganizationsPerUser: 3, limits: { recipient: { points: 1_000, duration: 60 } } }
const url = await server.createDatabase('app')
const postgres = await startOrganizationAuth({ ...options, url })
const sqlite = await startOrganizationAuth(options)

/** Returns the results of calls: `done`, or the codes of the rejections, sorted. */
async function outcomes(calls: readonly Promise<unknown>[]): Promise<string[]> {
  const all = await Promise.all(calls.map(outcome))
  return all.sort()
}

async function outcome(call: Promise<unknown>): Promise<string> {
  const [settled] = await Promise.allSettled([call])
  return settled?.status === 'fulfilled' ? 'done' : codeOf(call)
}

describe.each([
  { name: 'SQLite', auth: sqlite },
  { name: 'PostgreSQL', auth: postgres },
])('concurrently, in $name', ({ auth }) => {
  const { api } = auth

  async function twoOwners() {
    const company = await auth.createCompany()
    const { id, owner, admin } = company
    await auth.api.setMemberRole({
      organizationId: id,
      userId: admin.userId,
      role: 'owner',
      request: owner.request,
    })
    return { ...company, owners: [owner, admin] as const }
  }

  test.each([
    {
      what: 'leave',
      rejection: 'OWNER_NEEDED',
      end: (organizationId: string, { userId, request }: OrganizationPerson) =>
        api.removeMember({ organizationId, userId, request }),
    },
    {
      what: 'step down',
      rejection: 'OWNER_NEEDED',
      end: (organizationId: string, { userId, request }: OrganizationPerson) =>
        api.setMemberRole({ organizationId, userId, role: 'member', request }),
    },
    {
      what: 'delete their accounts',
      rejection: 'OWNER_NEEDED',
      end: (_organizationId: string, { request }: OrganizationPerson) => api.deleteUser({ request }),
    },
  ])('one of two owners who $what remains', async ({ end, rejection }) => {
    const company = await twoOwners()
    expect(await outcomes(company.owners.map((owner) => end(company.id, owner)))).toEqual([rejection, 'done'])
    const roles = await Promise.all(company.owners.map((owner) => auth.roleOf(company.id, owner)))
    expect(roles.filter((role) => role === 'owner')).toHaveLength(1)
  })

  test('one of two owners who remove each other remains', async () => {
    const { id, owners } = await twoOwners()
    const [ada, bob] = owners
    const remove = (userId: string, { request }: OrganizationPerson) =>
      api.removeMember({ organizationId: id, userId, request })
    expect(await outcomes([remove(bob.userId, ada), remove(ada.userId, bob)])).toEqual([
      'ORGANIZATION_NOT_FOUND',
      'done',
    ])
    const roles = await Promise.all(owners.map((owner) => auth.roleOf(id, owner)))
    expect(roles.sort()).toEqual([null, 'owner'].sort())
  })

  test('an invitation accepted many times is accepted once', async () => {
    const { id, owner } = await auth.createCompany()
    const guest = await auth.createPerson()
    const browsers = await Promise.all(Array.from({ length: 4 }, () => auth.signIn(guest)))
    await api.inviteMember({ organizationId: id, email: guest.email, role: 'admin', request: owner.request })
    const { token } = await auth.takeInvitation()
    const accept = browsers
      .flatMap(({ request }) => [request, request])
      .map((request) => api.acceptInvitation({ token, request }))
    expect(await outcomes(accept)).toEqual([...Array(7).fill('INVITATION_INVALID'), 'done'])
  })

  test('one of many who want the same slug gets it', async () => {
    const people = await Promise.all(Array.from({ length: 4 }, () => auth.createPerson()))
    const slug = `slug-${crypto.randomUUID()}`
    const create = people.map(({ request }) => api.createOrganization({ name: 'Acme', slug, request }))
    expect(await outcomes(create)).toEqual([...Array(3).fill('SLUG_TAKEN'), 'done'])
    const companies = [await auth.createCompany(), await auth.createCompany(), await auth.createCompany()]
    const another = `slug-${crypto.randomUUID()}`
    const update = companies.map(({ id, owner: { request } }) =>
      api.updateOrganization({ organizationId: id, slug: another, request }),
    )
    expect(await outcomes(update)).toEqual(['SLUG_TAKEN', 'SLUG_TAKEN', 'done'])
  })

  test('no user joins more organizations than allowed', async () => {
    const guest = await auth.createPerson()
    const companies = [await auth.createCompany(), await auth.createCompany()]
    const tokens: string[] = []
    for (const { id, owner } of companies) {
      await api.inviteMember({
        organizationId: id,
        email: guest.email,
        role: 'member',
        request: owner.request,
      })
      tokens.push((await auth.takeInvitation()).token)
    }
    const { request } = guest
    const calls = [
      ...tokens.map((token) => api.acceptInvitation({ token, request })),
      ...['a', 'b', 'c'].map((name) => api.createOrganization({ name, request })),
    ]
    const rejected = Array(2).fill('TOO_MANY_ORGANIZATIONS')
    expect(await outcomes(calls)).toEqual([...rejected, 'done', 'done', 'done'])
  })

  test("in any order of changes, every organization has an owner, and every session has its member's role", async () => {
    const { pick } = createRandom(20_261_121)
    const create = () => auth.createPerson()
    const people = [await create(), await create(), await create(), await create(), await create()] as const
    const found = async ({ request }: OrganizationPerson) =>
      (await api.createOrganization({ name: 'Acme', request })).organization.id
    const organizationIds = [await found(people[0]), await found(people[1])] as const
    for (const organizationId of organizationIds) {
      for (const person of people) {
        const role = await auth.roleOf(organizationId, person)
        if (role === null)
          await auth.insertMember(organizationId, person.userId, pick(['owner', 'admin', 'member']))
      }
    }
    function step(): Promise<unknown> {
      const { request } = pick(people)
      const organizationId = pick(organizationIds)
      const { userId, email } = pick(people)
      const role = pick(['owner', 'admin', 'member'])
      const steps: [() => Promise<unknown>, ...(() => Promise<unknown>)[]] = [
        () => api.setMemberRole({ organizationId, userId, role, request }),
        () => api.setMemberRole({ organizationId, userId, role, request }),
        () => api.removeMember({ organizationId, userId, request }),
        () => api.setActiveOrganization({ organizationId, request }),
        () => api.setActiveOrganization({ organizationId, request }),
        async () => {
          await api.inviteMember({ organizationId, email, role, request })
          const { token, email: to } = await auth.takeInvitation()
          const guest = people.find((person) => person.email === to)
          if (guest !== undefined) await api.acceptInvitation({ token, request: guest.request })
        },
      ]
      return pick(steps)()
    }
    const seen = new Set<string>()
    for (let round = 0; round < 8; round++) {
      for (const code of await outcomes(Array.from({ length: 12 }, step))) seen.add(code)
    }
    const expected = ['done', 'ROLE_REQUIRED', 'ORGANIZATION_NOT_FOUND', 'MEMBER_NOT_FOUND', 'OWNER_NEEDED']
    const possible = [...expected, 'ALREADY_MEMBER', 'INVITATION_INVALID', 'SESSIONS_UNAVAILABLE']
    expect([...seen].filter((code) => !possible.includes(code))).toEqual([])
    expect(seen).toContain('done')
    for (const id of organizationIds) {
      const owners = await auth.db
        .selectFrom('member')
        .select('id')
        .where('organizationId', '=', id)
        .where('role', '=', 'owner')
        .execute()
      expect(owners.length).toBeGreaterThan(0)
    }
    for (const person of people) {
      const [id, role] = await auth.activeOf(person)
      if (id !== null) expect(role).toBe(await auth.roleOf(id, person))
    }
  })
})

describe('the locks', () => {
  const auth = postgres
  const { api, database } = auth

  /** Waits until this many transactions wait for a lock, or the work has finished. */
  async function waitForLock(trx: AuthTransaction, isOver: () => boolean, count = 1): Promise<void> {
    const waiting = await sql`select 1 from pg_locks where not granted`.execute(trx)
    if (waiting.rows.length < count && !isOver()) await waitForLock(trx, isOver, count)
  }

  /** Starts work while a transaction holds a lock, and ends the transaction once the work waits. */
  async function meanwhile<Result>(
    lock: (trx: AuthTransaction) => Promise<unknown>,
    work: () => Promise<Result>,
    whileItWaits: (trx: AuthTransaction) => Promise<unknown> = async () => {},
  ): Promise<{ result: Result; hasWaited: boolean }> {
    const begun = Promise.withResolvers<Result>()
    let isOver = false
    const over = () => {
      isOver = true
    }
    const hasWaited = await database.db.transaction().execute(async (trx) => {
      await lock(trx)
      const working = work()
      working.then(over, over)
      working.then(begun.resolve, begun.reject)
      await waitForLock(trx, () => isOver)
      await whileItWaits(trx)
      return !isOver
    })
    return { result: await begun.promise, hasWaited }
  }

  const lockUser =
    ({ userId }: OrganizationPerson) =>
    (trx: AuthTransaction) =>
      trx.selectFrom('user').select('id').where('id', '=', userId).forNoKeyUpdate().execute()
  const lockOrganization =
    ({ id }: Company) =>
    (trx: AuthTransaction) =>
      withOwnTables(trx)
        .selectFrom('organization')
        .select('id')
        .where('id', '=', id)
        .forNoKeyUpdate()
        .execute()
  const organizationIsFree =
    ({ id }: Company) =>
    async (trx: AuthTransaction) => {
      const row = withOwnTables(trx).selectFrom('organization').select('id').where('id', '=', id)
      expect(await row.forUpdate().noWait().execute()).toHaveLength(1)
    }

  /**
   * Creates a company that isn't the admin's active organization, so the membership can be changed while
   * their session is locked.
   */
  async function companyWithIdleAdmin(): Promise<Company> {
    const company = await auth.createCompany()
    await api.setActiveOrganization({ organizationId: null, request: company.admin.request })
    return company
  }

  const ACTS: { what: string; act: (company: Company) => Promise<unknown> }[] = [
    {
      what: 'inviting',
      act: ({ id, admin: { request } }) =>
        api.inviteMember({ organizationId: id, email: 'eve@example.com', role: 'member', request }),
    },
    {
      what: 'renaming',
      act: ({ id, admin: { request } }) =>
        api.updateOrganization({ organizationId: id, name: 'Emca', request }),
    },
    {
      what: 'withdrawing an invitation',
      act: ({ id, admin: { request } }) =>
        api.cancelInvitation({ organizationId: id, invitationId: 'any', request }),
    },
    {
      what: 'giving a role',
      act: ({ id, admin: { request }, member: { userId } }) =>
        api.setMemberRole({ organizationId: id, userId, role: 'admin', request }),
    },
    {
      what: 'removing',
      act: ({ id, admin: { request }, member: { userId } }) =>
        api.removeMember({ organizationId: id, userId, request }),
    },
  ]

  test.each(ACTS)(
    '$what waits for a change of the organization, and is rejected for the user it demoted',
    async ({ act }) => {
      const company = await companyWithIdleAdmin()
      const { id, admin } = company
      const { result, hasWaited } = await meanwhile(
        lockOrganization(company),
        () => outcome(act(company)),
        (trx) =>
          withOwnTables(trx)
            .updateTable('member')
            .set({ role: 'member' })
            .where('organizationId', '=', id)
            .where('userId', '=', admin.userId)
            .execute(),
      )
      expect({ result, hasWaited }).toEqual({ result: 'ROLE_REQUIRED', hasWaited: true })
    },
  )

  test.each([
    {
      what: 'removing',
      act: ({ id, admin: { request }, member: { userId } }: Company) =>
        api.removeMember({ organizationId: id, userId, request }),
    },
    {
      what: 'giving a role',
      act: ({ id, admin: { request }, member: { userId } }: Company) =>
        api.setMemberRole({ organizationId: id, userId, role: 'admin', request }),
    },
    {
      what: 'deleting the organization',
      act: ({ id, owner: { request } }: Company) => api.deleteOrganization({ organizationId: id, request }),
    },
  ])('$what waits for the member before it locks the organization', async ({ act }) => {
    const company = await auth.createCompany()
    const { result, hasWaited } = await meanwhile(
      lockUser(company.member),
      () => outcome(act(company)),
      organizationIsFree(company),
    )
    expect({ result, hasWaited }).toEqual({ result: 'done', hasWaited: true })
  })

  test('an owner who deletes their account waits for a change of the organization, and stays if no other owner is left', async () => {
    const company = await auth.createCompany()
    const { id, owner, admin } = company
    await api.setMemberRole({
      organizationId: id,
      userId: admin.userId,
      role: 'owner',
      request: owner.request,
    })
    const { result, hasWaited } = await meanwhile(
      lockOrganization(company),
      () => outcome(api.deleteUser({ request: owner.request })),
      (trx) =>
        withOwnTables(trx)
          .updateTable('member')
          .set({ role: 'admin' })
          .where('organizationId', '=', id)
          .where('userId', '=', admin.userId)
          .execute(),
    )
    expect({ result, hasWaited }).toEqual({ result: 'OWNER_NEEDED', hasWaited: true })
  })

  test("an invitation withdrawn during its acceptance isn't accepted", async () => {
    const company = await auth.createCompany()
    const { id, owner } = company
    const guest = await auth.createPerson()
    await api.inviteMember({ organizationId: id, email: guest.email, role: 'member', request: owner.request })
    const { token } = await auth.takeInvitation()
    const { result, hasWaited } = await meanwhile(
      lockOrganization(company),
      () => outcome(api.acceptInvitation({ token, request: guest.request })),
      (trx) => withOwnTables(trx).deleteFrom('invitation').where('email', '=', guest.email).execute(),
    )
    expect({ result, hasWaited }).toEqual({ result: 'INVITATION_INVALID', hasWaited: true })
  })
})

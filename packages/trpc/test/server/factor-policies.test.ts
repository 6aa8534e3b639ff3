import { organization } from '@sallyport/core/plugins/organization'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import {
  bindSession,
  createAuthContext,
  type DatabaseContext,
  requireOrganizationRole,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { afterAll, describe, expect, test } from 'vitest'
import { insertOrganization } from '../../../core/test/support/insert-organization.ts'
import { openBrowser } from '../../../core/test/support/open-browser.ts'
import { totpCode } from '../../../core/test/support/totp-code.ts'
import { type Outcome, outcomeOf, rejectionFor } from '../support/outcome.ts'
import { browser } from '../support/visitor.ts'

const auth = await createTestAuth({ plugins: [organization(), totp({ issuer: 'Test' })] })
afterAll(() => auth.close())
const { api, db } = auth

const bound = bindSession<typeof auth.definition>()
const { createSensitiveSessionMiddleware, sensitiveSessionMiddleware, sessionMiddleware } = bound

type Factor = NonNullable<Parameters<typeof createSensitiveSessionMiddleware>[0]>['factor'] & {}

interface Context extends DatabaseContext {
  readonly db: typeof auth.db
  readonly meanwhile: () => Promise<unknown>
}

const t = initTRPC.context<Context>().create()
const maxAge = Number.POSITIVE_INFINITY
const policy = (factor: Factor) =>
  t.procedure.use(createSensitiveSessionMiddleware({ factor, maxAge })).mutation(() => 'done')

/** The organizations whose members need a factor. */
const strict = new Set<unknown>()
const inStrictOrganization: Factor = ({ activeOrganizationId }) =>
  strict.has(activeOrganizationId) ? 'any-second' : null

const router = t.router({
  admins: policy(({ user }) => (user.role === 'admin' ? 'any-second' : null)),
  owners: policy(({ activeOrganizationRole }) => (activeOrganizationRole === 'owner' ? 'any-second' : null)),
  strict: policy(inStrictOrganization),
  everyone: policy('any-second'),
  everyoneByFunction: policy(() => 'any-second'),

  me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.session.id),
  fresh: t.procedure.use(createSensitiveSessionMiddleware()).mutation(() => 'done'),
  members: t.procedure
    .use(sensitiveSessionMiddleware)
    .use(requireOrganizationRole('owner', 'admin', 'member'))
    .query(() => 'done'),
  rename: t.procedure
    .use(createSensitiveSessionMiddleware({ factor: inStrictOrganization, maxAge }))
    .mutation(async ({ ctx }) => {
      await ctx.meanwhile()
      return ctx.transaction(async (trx) => {
        await trx.updateTable('user').set({ name: 'Renamed' }).where('id', '=', ctx.user.id).execute()
        return 'done'
      })
    }),
})

type Procedure = keyof typeof router._def.procedures

function call(procedure: Procedure, session: Pick<TestSession, 'cookie'>, meanwhile = async () => {}) {
  const { auth: handle } = createAuthContext(auth.config).headers(browser(session).headers)
  return outcomeOf(router.createCaller({ auth: handle, db, meanwhile })[procedure]())
}

const DONE: Outcome = { data: 'done', rejection: null }
const required = { factor: 'any-second', maxAgeSeconds: null } as const
const REQUIRED: Outcome = { rejection: rejectionFor('FACTOR_REQUIRED', { replay: false, required }) }

const requestOf = ({ cookie }: TestSession) =>
  new Request('http://localhost:3000/', { method: 'POST', headers: { cookie, 'x-sallyport': '1' } })

const prove = ({ sessionId }: TestSession, amr = '{"pwd":1764288000,"otp":1764288060}') =>
  db.updateTable('session').set({ amr }).where('id', '=', sessionId).execute()

/** Signs in a user with a role in their active organization, and returns its id. */
async function join(role: 'owner' | 'admin' | 'member') {
  const [owner, person] = [await auth.signIn(), await auth.signIn()]
  const { userId } = person
  const { organizationId } = await insertOrganization(auth, { [owner.userId]: 'owner', [userId]: role })
  const request = requestOf(person)
  await api.setActiveOrganization({ organizationId, request })
  const target = { organizationId, userId, request: requestOf(owner) }
  return { organizationId, person, request, target }
}

test('by role: admins need a factor, and other users do not', async () => {
  const [user, root] = [await auth.signIn(), await auth.signIn({ role: 'admin' })]
  expect(await call('admins', user)).toEqual(DONE)
  expect(await call('admins', root)).toEqual(REQUIRED)
  await prove(root)
  expect(await call('admins', root)).toEqual(DONE)
})

describe('by organization', () => {
  test.each([
    { role: 'owner', expected: REQUIRED },
    { role: 'admin', expected: DONE },
    { role: 'member', expected: DONE },
  ] as const)('owners need a factor: a session with the role $role', async ({ role, expected }) => {
    const { person, request } = await join(role)
    expect(await call('owners', person)).toEqual(expected)
    await api.setActiveOrganization({ organizationId: null, request })
    expect(await call('owners', person)).toEqual(DONE)
  })

  test('an admin of the app who owns no organization needs none', async () => {
    expect(await call('owners', await auth.signIn({ role: 'admin' }))).toEqual(DONE)
  })

  test('a promotion and a demotion decide from the next call on', async () => {
    const { person, target } = await join('member')
    await api.setMemberRole({ ...target, role: 'owner' })
    expect(await call('owners', person)).toEqual(REQUIRED)
    await prove(person)
    expect(await call('owners', person)).toEqual(DONE)
    await prove(person, '{"pwd":1764288000}')
    await api.setMemberRole({ ...target, role: 'admin' })
    expect(await call('owners', person)).toEqual(DONE)
  })

  test('members of one organization need a factor, while it is active', async () => {
    const [ada, bob] = [await join('member'), await join('owner')]
    strict.add(ada.organizationId)
    expect(await call('strict', ada.person)).toEqual(REQUIRED)
    expect(await call('strict', bob.person)).toEqual(DONE)
    const other = await auth.signIn({ userId: ada.person.userId })
    expect(await call('strict', other)).toEqual(DONE)
    await api.removeMember(ada.target)
    expect(await call('strict', ada.person)).toEqual(DONE)
  })

  test('ctx.transaction decides by the organization that is active under its locks', async () => {
    const { person, organizationId, request } = await join('member')
    await api.setActiveOrganization({ organizationId: null, request })
    strict.add(organizationId)
    const activate = async () => void (await api.setActiveOrganization({ organizationId, request }))
    const { rejection } = await call('rename', person, activate)
    expect(rejection).toEqual(REQUIRED.rejection)
    const names = db.selectFrom('user').select('name').where('id', '=', person.userId)
    expect(await names.execute()).toEqual([{ name: 'Test User' }])
    await prove(person)
    expect(await call('rename', person)).toEqual(DONE)
    expect(await names.execute()).toEqual([{ name: 'Renamed' }])
  })
})

test.each(['everyone', 'everyoneByFunction'] as const)(
  '%s needs a factor, in any role',
  async (procedure) => {
    const people = [await auth.signIn(), await auth.signIn({ role: 'admin' }), (await join('member')).person]
    for (const person of people) {
      expect(await call(procedure, person)).toEqual(REQUIRED)
      await prove(person)
      expect(await call(procedure, person)).toEqual(DONE)
    }
  },
)

describe('an account without a factor', () => {
  test('signs in, and uses everything that requires none', async () => {
    const { request, organizationId } = await join('member')
    const { email } = (await api.getSession({ request })).user
    const page = openBrowser(auth)
    expect((await page.signIn(email)).status).toBe('200')
    expect((await page.call('setActiveOrganization', { organizationId })).status).toBe('200')
    expect(await call('everyone', page)).toEqual(REQUIRED)
    expect((await call('me', page)).rejection).toBeNull()
    for (const procedure of ['fresh', 'members', 'admins', 'owners', 'strict'] as const)
      expect(await call(procedure, page)).toEqual(DONE)
    expect((await page.call('listMembers', { organizationId })).status).toBe('200')
    expect((await page.call('updateUser', { name: 'Ada' })).status).toBe('200')
    expect((await page.call('reauthenticate', { password: TEST_PASSWORD })).status).toBe('200')
  })

  test('sets up a factor in the same session, which then has proved it', async () => {
    const { email } = await auth.createUser()
    const page = openBrowser(auth)
    await page.signIn(email)
    const session = await call('me', page)
    expect(await call('everyone', page)).toEqual(REQUIRED)

    expect((await page.call('getTotp')).body).toEqual({ enabledAt: null, recoveryCodes: 0 })
    const { secret } = (await page.call('enableTotp')).body
    // A secret without a first code isn't a factor.
    expect(await call('everyone', page)).toEqual(REQUIRED)
    expect((await page.call('confirmTotp', { code: totpCode(secret, auth) })).status).toBe('200')
    expect(await call('everyone', page)).toEqual(DONE)
    expect(await call('me', page)).toEqual(session)
    expect((await page.call('getTotp')).body).toMatchObject({ recoveryCodes: 10 })

    auth.clock.advance(30)
    expect((await page.call('disableTotp', { code: totpCode(secret, auth) })).status).toBe('200')
    expect(await call('everyone', page)).toEqual(REQUIRED)
  })
})

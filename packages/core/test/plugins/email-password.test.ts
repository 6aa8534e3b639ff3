import { authenticate } from '@sallyport/core'
import { EndpointError } from '@sallyport/core/auth'
import { createPasswordAccount } from '@sallyport/core/plugins'
import { ENDPOINT_PATHS } from '@sallyport/core/protocol'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { incoming } from '../support/incoming.ts'
import { cookieChanges, cookiesAfter, post } from '../support/requests.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())

const newEmail = () => `${crypto.randomUUID()}@example.com`
const signUp = (body: unknown, headers?: Record<string, string>) =>
  auth.handler(post(ENDPOINT_PATHS.signUpEmail, body, headers))
const signIn = (body: unknown, headers?: Record<string, string>) =>
  auth.handler(post(ENDPOINT_PATHS.signInEmail, body, headers))

/** Everything that is stored, to see that nothing has changed. */
const stored = async () => ({
  users: await auth.db.selectFrom('user').selectAll().execute(),
  accounts: await auth.db.selectFrom('account').selectAll().execute(),
  sessions: await auth.db.selectFrom('session').selectAll().execute(),
})
const userOf = (email: string) =>
  auth.db.selectFrom('user').selectAll().where('email', '=', email).executeTakeFirstOrThrow()

const valid = () => ({ name: 'Ada', email: newEmail(), password: 'eight or more' })
const tokenResponse = {
  expiresIn: 900,
  expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/),
  userId: expect.any(String),
  sessionId: expect.any(String),
}

describe.each([
  ['sign-up', async () => signUp(valid())],
  ['sign-in', async () => signIn({ email: (await auth.createUser()).email, password: TEST_PASSWORD })],
])('%s', (_name, enter) => {
  test('begins a session: both cookies, and no JWT in the body', async () => {
    const response = await enter()
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual(tokenResponse)
    const [jwt, session] = response.headers.getSetCookie()
    expect(jwt).toMatch(/^service\.jwt=[\w-]+\.[\w-]+\.[\w-]+; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax$/)
    expect(session).toMatch(
      /^service\.session=[0-9a-f-]{36}\.[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    expect(response.headers.getSetCookie()).toHaveLength(2)
  })

  test('lets the browser in at once, as the user it says', async () => {
    const response = await enter()
    const { userId, sessionId } = await response.json()
    const request = incoming({ cookie: cookiesAfter('', response) })
    const both = { config: auth.config, adapter: auth.database.sessions }
    expect(await authenticate(request, 'query', both)).toMatchObject({ session: { id: sessionId, userId } })
  })

  test('stores the secret as sha256:<hex>, and shows it in the cookie alone', async () => {
    const response = await enter()
    const body = await response.text()
    const cookie = cookiesAfter('', response).match(/service\.session=([^.]+)\.(.+)$/)
    const [, sessionId = '', secret = ''] = cookie ?? []
    const row = await auth.db
      .selectFrom('session')
      .selectAll()
      .where('id', '=', sessionId)
      .executeTakeFirstOrThrow()
    expect(row.token).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(secret).toHaveLength(43)
    expect(`${JSON.stringify(await stored())} ${body}`).not.toContain(secret)
  })
})

describe('sign-up', () => {
  test('creates a user with the role user, whose password is an argon2id hash', async () => {
    const ada = valid()
    await signUp(ada)
    const user = await userOf(ada.email)
    expect(user).toMatchObject({
      name: 'Ada',
      role: 'user',
      banned: 0,
      banReason: null,
      banExpires: null,
      emailVerified: 0,
    })
    const account = await auth.db
      .selectFrom('account')
      .selectAll()
      .where('userId', '=', user.id)
      .executeTakeFirstOrThrow()
    expect(account).toMatchObject({ providerId: 'credential', accountId: user.id })
    expect(account.password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(JSON.stringify(await stored())).not.toContain(ada.password)
  })

  test('keeps the user agent', async () => {
    const response = await signUp(valid(), { 'user-agent': 'Mosaic/0.9' })
    const { sessionId } = await response.json()
    const row = auth.db.selectFrom('session').select('userAgent').where('id', '=', sessionId)
    expect(await row.executeTakeFirst()).toEqual({ userAgent: 'Mosaic/0.9' })
  })

  test('takes the email without white space and in lower case', async () => {
    const ada = valid()
    expect((await signUp({ ...ada, email: `  ${ada.email.toUpperCase()}\t` })).status).toBe(200)
    expect(await userOf(ada.email)).toMatchObject({ email: ada.email })
  })

  test('with an email that is taken is 409, in whatever letters, and changes nothing', async () => {
    const ada = valid()
    await signUp(ada)
    const before = await stored()
    const response = await signUp({ ...ada, email: ada.email.toUpperCase(), password: 'another password' })
    expect(response.status).toBe(409)
    expect(await response.json()).toEqual({
      code: 'EMAIL_TAKEN',
      message: 'There is an account with this email',
    })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await stored()).toEqual(before)
  })

  test('twice at once creates one user', async () => {
    const ada = valid()
    const statuses = await Promise.all(
      [signUp(ada), signUp(ada)].map(async (answer) => (await answer).status),
    )
    expect(statuses.sort()).toEqual([200, 409])
    expect(
      await auth.db.selectFrom('user').select('id').where('email', '=', ada.email).execute(),
    ).toHaveLength(1)
  })
})

describe('a body that does not fit is 400 with its fields, and changes nothing', () => {
  const credentials = { email: 'ada@example.com', password: 'eight or more' }
  const account = { ...credentials, name: 'Ada' }

  test.each([
    ['sign-up', {}, ['name', 'email', 'password']],
    ['sign-up', { ...account, name: '' }, ['name']],
    ['sign-up', { ...account, name: '  ' }, ['name']],
    ['sign-up', { ...account, name: 'x'.repeat(129) }, ['name']],
    ['sign-up', { ...account, name: 1 }, ['name']],
    ['sign-up', { ...account, email: '' }, ['email']],
    ['sign-up', { ...account, email: 'ada' }, ['email']],
    ['sign-up', { ...account, email: 'ada@localhost' }, ['email']],
    ['sign-up', { ...account, email: 'ada@example.com, eve@example.com' }, ['email']],
    ['sign-up', { ...account, email: 'ada @example.com' }, ['email']],
    ['sign-up', { ...account, email: `${'x'.repeat(320)}@example.com` }, ['email']],
    ['sign-up', { ...account, email: ['ada@example.com'] }, ['email']],
    ['sign-up', { ...account, password: 'seven.7' }, ['password']],
    ['sign-up', { ...account, password: 'x'.repeat(257) }, ['password']],
    ['sign-up', { ...account, password: 12345678 }, ['password']],
    ['sign-up', { ...account, role: 'admin' }, ['role']],
    ['sign-up', { ...account, banned: false }, ['banned']],
    ['sign-up', { ...account, userId: 'x', id: 'y' }, ['userId', 'id']],
    ['sign-up', { ...account, emailVerified: true }, ['emailVerified']],
    ['sign-up', [account], undefined],
    ['sign-up', null, undefined],
    ['sign-in', {}, ['email', 'password']],
    ['sign-in', { ...credentials, email: 'ada' }, ['email']],
    ['sign-in', { ...credentials, email: { $ne: '' } }, ['email']],
    ['sign-in', { ...credentials, password: 'x'.repeat(257) }, ['password']],
    ['sign-in', { ...credentials, password: null }, ['password']],
    ['sign-in', { ...credentials, userId: 'x' }, ['userId']],
    ['sign-in', { ...credentials, role: 'admin' }, ['role']],
  ])('%s with %j', async (name, body, fields) => {
    const before = await stored()
    const response = await (name === 'sign-up' ? signUp : signIn)(body)
    const answer = await response.json()
    expect({ status: response.status, ...answer }).toEqual({
      status: 400,
      code: 'INVALID_INPUT',
      message: 'The request body is not valid',
      ...(fields && { fields }),
    })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await stored()).toEqual(before)
  })

  test.each(['sign-up', 'sign-in'])('%s without any', async (name) => {
    const response = await (name === 'sign-up' ? signUp : signIn)(undefined)
    expect(response.status).toBe(400)
    expect((await response.json()).code).toBe('INVALID_INPUT')
  })

  test('a member named __proto__ makes nobody an admin', async () => {
    const ada = valid()
    const body = `{"__proto__":{"role":"admin"},${JSON.stringify(ada).slice(1)}`
    const request = new Request(post(ENDPOINT_PATHS.signUpEmail), {
      headers: { 'content-type': 'application/json', 'x-sallyport': '1' },
      body,
    })
    await auth.handler(request)
    const roles = await auth.db.selectFrom('user').select('role').where('email', '=', ada.email).execute()
    expect(roles.filter(({ role }) => role !== 'user')).toEqual([])
  })
})

describe('sign-in', () => {
  test('knows the email in whatever letters', async () => {
    const { email, userId } = await auth.createUser()
    const response = await signIn({ email: ` ${email.toUpperCase()} `, password: TEST_PASSWORD })
    expect(await response.json()).toMatchObject({ userId })
  })

  test('answers a wrong password and an unknown email alike', async () => {
    const { email } = await auth.createUser()
    const before = await stored()
    const wrong = await signIn({ email, password: `${TEST_PASSWORD}.` })
    const unknown = await signIn({ email: newEmail(), password: TEST_PASSWORD })
    const empty = await signIn({ email, password: '' })
    const answers = await Promise.all([wrong, unknown, empty].map((response) => response.text()))
    expect([wrong.status, unknown.status, empty.status]).toEqual([401, 401, 401])
    expect(new Set(answers)).toEqual(
      new Set(['{"code":"INVALID_CREDENTIALS","message":"Email or password is wrong"}']),
    )
    for (const response of [wrong, unknown, empty]) {
      expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    }
    expect(await stored()).toEqual(before)
  })

  test.each([
    ['in other letters', TEST_PASSWORD.toUpperCase()],
    ['with white space around it', ` ${TEST_PASSWORD} `],
    ['cut short', TEST_PASSWORD.slice(0, -1)],
  ])('takes no password %s', async (_name, password) => {
    const { email } = await auth.createUser()
    expect((await signIn({ email, password })).status).toBe(401)
  })

  test('of an account without a password is refused', async () => {
    const { email, userId } = await auth.createUser()
    await auth.db.updateTable('account').set({ password: null }).where('userId', '=', userId).execute()
    for (const password of ['', 'null', TEST_PASSWORD]) {
      expect((await signIn({ email, password })).status).toBe(401)
    }
  })

  test('of an account of another provider is refused', async () => {
    const { email, userId } = await auth.createUser()
    await auth.db.updateTable('account').set({ providerId: 'github' }).where('userId', '=', userId).execute()
    expect((await signIn({ email, password: TEST_PASSWORD })).status).toBe(401)
  })

  test('leaves other sessions of the user in place', async () => {
    const { email, userId } = await auth.createUser()
    const elsewhere = await auth.signIn({ userId })
    await signIn({ email, password: TEST_PASSWORD }, { cookie: elsewhere.cookie })
    expect(await auth.database.sessions.findSession(elsewhere)).not.toBeNull()
  })

  describe('of a banned user', () => {
    test('is 403 "Account banned", and begins no session', async () => {
      const { email, userId } = await auth.createUser()
      const session = await auth.signIn({ userId })
      await auth.ban(session)
      const before = await stored()
      const response = await signIn({ email, password: TEST_PASSWORD })
      expect(response.status).toBe(403)
      expect(await response.json()).toEqual({ code: 'ACCOUNT_BANNED', message: 'Account banned' })
      expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
      expect(await stored()).toEqual(before)
    })

    test('with a wrong password tells nobody of the ban', async () => {
      const { email, userId } = await auth.createUser()
      await auth.ban(await auth.signIn({ userId }))
      const response = await signIn({ email, password: 'wrong password' })
      expect((await response.json()).code).toBe('INVALID_CREDENTIALS')
    })

    test('succeeds once the ban has ended', async () => {
      const { email, userId } = await auth.createUser()
      const banExpires = new Date(auth.clock.now().getTime() - 1)
      await auth.db.updateTable('user').set({ banned: true, banExpires }).where('id', '=', userId).execute()
      expect((await signIn({ email, password: TEST_PASSWORD })).status).toBe(200)
    })
  })
})

test('an app may create its first users itself, with a role', async () => {
  const email = newEmail()
  const user = { name: 'Root', email, password: TEST_PASSWORD, role: 'admin', now: auth.clock.now() }
  const { userId } = await createPasswordAccount(auth.db, user)
  expect(await userOf(email)).toMatchObject({ id: userId, role: 'admin' })
  await expect(createPasswordAccount(auth.db, user)).rejects.toMatchObject({ code: 'EMAIL_TAKEN' })
  await expect(createPasswordAccount(auth.db, user)).rejects.toBeInstanceOf(EndpointError)
})

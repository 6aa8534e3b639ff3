import { authenticate } from '@sallyport/core'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { incoming } from '../../support/incoming.ts'
import { cookieChanges, cookiesAfter, post } from '../../support/requests.ts'
import { parseSessionCookie } from '../../support/session-cookie.ts'
import { stored } from '../../support/stored.ts'

const limits = { address: { points: 1_000_000, duration: 60 } }
const auth = await createTestAuth({ emailPassword: { limits } })
afterAll(() => auth.close())

type Headers = Record<string, string>
const newEmail = () => `${crypto.randomUUID()}@example.com`
const signUp = (body: unknown, headers?: Headers, remoteAddress?: string) =>
  auth.handler(post(ENDPOINTS.signUpEmail.path, body, headers), { remoteAddress })
const signIn = (body: unknown, headers?: Headers, remoteAddress?: string) =>
  auth.handler(post(ENDPOINTS.signInEmail.path, body, headers), { remoteAddress })
const sessionCookieOf = (response: Response) =>
  /service\.session=([^;]+)/.exec(cookiesAfter('', response))?.[1] ?? ''

const tokenResponse = {
  expiresIn: 900,
  expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/),
  userId: expect.any(String),
  sessionId: expect.any(String),
}

type Enter = (more?: object, headers?: Headers, remoteAddress?: string) => Promise<Response>
const ways: [string, Enter][] = [
  [
    'sign-up',
    (more, ...rest) =>
      signUp({ name: 'Ada', email: newEmail(), password: 'eight or more', ...more }, ...rest),
  ],
  [
    'sign-in',
    async (more, ...rest) => {
      const { email } = await auth.createUser()
      return signIn({ email, password: TEST_PASSWORD, ...more }, ...rest)
    },
  ],
]

describe.each(ways)('%s', (_name, enter) => {
  test('creates a session: three cookies, and no JWT in the body', async () => {
    const response = await enter()
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual(tokenResponse)
    const [jwt, session, device] = response.headers.getSetCookie()
    expect(jwt).toMatch(/^service\.jwt=[\w-]+\.[\w-]+\.[\w-]+; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax$/)
    expect(session).toMatch(
      /^service\.session=[0-9a-f-]{36}\.[\w-]{91}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    expect(device).toMatch(/^service\.device=[\w-]{43}; Max-Age=15552000; Path=\/; HttpOnly; SameSite=Lax$/)
    expect(response.headers.getSetCookie()).toHaveLength(3)
  })

  test('authenticates the browser at once, as the user in the response', async () => {
    const response = await enter()
    const { userId, sessionId } = await response.json()
    const request = incoming({ cookie: cookiesAfter('', response) })
    const both = { config: auth.config, sessions: auth.database.sessions }
    expect(await authenticate(request, 'query', both)).toMatchObject({ session: { id: sessionId, userId } })
  })

  test('ends only the previous session of the same browser, whichever user it belongs to', async () => {
    const { userId } = await auth.createUser()
    const [here, elsewhere] = [await auth.signIn({ userId }), await auth.signIn({ userId })]
    expect((await enter({}, { cookie: here.cookie })).status).toBe(200)
    expect(await auth.database.sessions.findSession(here)).toBeNull()
    expect(await auth.database.sessions.findSession(elsewhere)).not.toBeNull()
  })

  test('never reuses a session id or secret from the browser', async () => {
    const planted = `${crypto.randomUUID()}.${'A'.repeat(43)}`
    const response = await enter({}, { cookie: `service.session=${planted}` })
    const [brought, given] = [planted, sessionCookieOf(response)].map(parseSessionCookie)
    expect(given?.sessionId).not.toBe(brought?.sessionId)
    expect(given?.secret).not.toBe(brought?.secret)
  })
})

describe('an invalid body is 400 with its fields, and changes nothing', () => {
  const credentials = { email: 'ada@example.com', password: 'eight or more' }
  const account = { ...credentials, name: 'Ada' }

  test.each([
    ['sign-up', undefined, ['name', 'email', 'password']],
    ['sign-up', {}, ['name', 'email', 'password']],
    ['sign-up', { ...account, name: '' }, ['name']],
    ['sign-up', { ...account, name: '  ' }, ['name']],
    ['sign-up', { ...account, name: 'x'.repeat(129) }, ['name']],
    ['sign-up', { ...account, name: 1 }, ['name']],
    ['sign-up', { ...account, name: 'Win at https://evil.example' }, ['name']],
    ['sign-up', { ...account, name: 'Ada\u202Eevol' }, ['name']],
    ['sign-up', { ...account, email: '' }, ['email']],
    ['sign-up', { ...account, email: 'ada' }, ['email']],
    ['sign-up', { ...account, email: 'ada@localhost' }, ['email']],
    ['sign-up', { ...account, email: 'ada@example.com, eve@example.com' }, ['email']],
    ['sign-up', { ...account, email: 'ada @example.com' }, ['email']],
    // The Kelvin sign, which is a `k` in lower case.
    ['sign-up', { ...account, email: '\u212aate@example.com' }, ['email']],
    ['sign-up', { ...account, email: `${'x'.repeat(320)}@example.com` }, ['email']],
    ['sign-up', { ...account, email: ['ada@example.com'] }, ['email']],
    ['sign-up', { ...account, password: 'seven.7' }, ['password']],
    ['sign-up', { ...account, password: '🚪🔑🚪🔑🚪🔑🚪' }, ['password']],
    ['sign-up', { ...account, password: 'x'.repeat(257) }, ['password']],
    ['sign-up', { ...account, password: '🚪'.repeat(257) }, ['password']],
    ['sign-up', { ...account, password: 'half a gate \ud83d' }, ['password']],
    ['sign-up', { ...account, password: 12345678 }, ['password']],
    ['sign-up', { ...account, rememberMe: 'false' }, ['rememberMe']],
    ['sign-up', { ...account, rememberMe: null }, ['rememberMe']],
    ['sign-up', { ...account, role: 'admin' }, ['role']],
    ['sign-up', { ...account, banned: false }, ['banned']],
    ['sign-up', { ...account, userId: 'x', id: 'y' }, ['userId', 'id']],
    ['sign-up', { ...account, emailVerified: true }, ['emailVerified']],
    ['sign-up', [account], undefined],
    ['sign-up', null, undefined],
    ['sign-in', undefined, ['email', 'password']],
    ['sign-in', {}, ['email', 'password']],
    ['sign-in', { ...credentials, email: 'ada' }, ['email']],
    ['sign-in', { ...credentials, email: { $ne: '' } }, ['email']],
    ['sign-in', { ...credentials, password: 'x'.repeat(257) }, ['password']],
    ['sign-in', { ...credentials, password: '🚪'.repeat(257) }, ['password']],
    ['sign-in', { ...credentials, password: 'half a gate \ud83d' }, ['password']],
    ['sign-in', { ...credentials, password: null }, ['password']],
    ['sign-in', { ...credentials, rememberMe: 0 }, ['rememberMe']],
    ['sign-in', { ...credentials, userId: 'x' }, ['userId']],
    ['sign-in', { ...credentials, role: 'admin' }, ['role']],
  ])('%s with %j', async (name, body, fields) => {
    const before = await stored(auth)
    const response = await (name === 'sign-up' ? signUp : signIn)(body)
    const answer = await response.json()
    expect({ status: response.status, ...answer }).toEqual({
      status: 400,
      code: 'INVALID_INPUT',
      message: 'The request is not valid',
      ...(fields && { fields }),
    })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await stored(auth)).toEqual(before)
  })

  test('ignores a member named __proto__, so it makes no user an admin', async () => {
    const email = newEmail()
    const body = `{"__proto__":{"role":"admin"},${JSON.stringify({ ...account, email }).slice(1)}`
    const request = new Request(post(ENDPOINTS.signUpEmail.path), {
      headers: { 'content-type': 'application/json', 'x-sallyport': '1' },
      body,
    })
    await auth.handler(request)
    const roles = await auth.db.selectFrom('user').select('role').where('email', '=', email).execute()
    expect(roles.filter(({ role }) => role !== 'user')).toEqual([])
  })
})

import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { dumpTables } from '../../support/dump-tables.ts'
import { cookieChanges, cookiesAfter, get, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import { subscribeToSession } from '../../support/subscribe-to-session.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  ada = await auth.signIn()
})

const reauthenticate = (cookie = ada.cookie, body: unknown = { password: TEST_PASSWORD }) =>
  auth.handler(post(ENDPOINTS.reauthenticate.path, body, { cookie }))
const refresh = (cookie: string, on = auth) => on.handler(get(ENDPOINTS.token.path, { cookie }))
const call = (cookie: string) => statusOf(auth.handler(get(ENDPOINTS.getSession.path, { cookie })))
const sessionRow = ({ sessionId }: TestSession) =>
  auth.db.selectFrom('session').selectAll().where('id', '=', sessionId).executeTakeFirstOrThrow()

test('a call rejected with SESSION_NOT_FRESH then succeeds, and the session id stays', async () => {
  const changeEmail = (cookie: string) =>
    statusOf(auth.handler(post(ENDPOINTS.changeEmail.path, { newEmail: 'x@example.com' }, { cookie })))
  const lastAuthenticatedAt = new Date(auth.clock.now().getTime() - 15 * 60_000 - 1)
  await auth.db.updateTable('session').set({ lastAuthenticatedAt }).where('id', '=', ada.sessionId).execute()
  expect(await changeEmail(ada.cookie)).toBe('403 SESSION_NOT_FRESH')
  const response = await reauthenticate()
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    expiresIn: 900,
    expiresAt: expect.any(String),
    userId: ada.userId,
    sessionId: ada.sessionId,
  })
  const cookie = cookiesAfter(ada.cookie, response)
  // This server has no sendEmail, so 501 shows that the freshness check passed.
  expect(await changeEmail(cookie)).toBe('501 EMAIL_UNAVAILABLE')
  expect(await sessionRow(ada)).toMatchObject({
    id: ada.sessionId,
    lastAuthenticatedAt: auth.clock.now().toISOString(),
  })
})

test("the secret changes, and the session isn't extended", async () => {
  const before = await sessionRow(ada)
  auth.clock.advance(3_600)
  const { cookie } = await auth.expireJwt(ada)
  const fresh = cookiesAfter(cookie, await refresh(cookie))
  const response = await reauthenticate(fresh)
  const [, header = ''] = response.headers.getSetCookie()
  const left = 30 * 24 * 3_600 - 3_600
  expect(header).toMatch(
    new RegExp(
      `^service\\.session=${ada.sessionId}\\.[\\w-]{91}; Max-Age=${left}; Path=/; HttpOnly; SameSite=Lax$`,
    ),
  )
  expect(header).not.toContain(ada.sessionCookie)
  const after = await sessionRow(ada)
  expect(after.token).not.toBe(before.token)
  expect(after).toMatchObject({ previousToken: null, version: 2, expiresAt: before.expiresAt })
  expect(await call(cookiesAfter(fresh, response))).toBe('200')
})

test("the current JWT is replaced, and the user's other sessions stay unchanged", async () => {
  const elsewhere = await auth.signIn(ada)
  const before = await sessionRow(elsewhere)
  const [here, there] = [subscribeToSession(auth, ada), subscribeToSession(auth, elsewhere)]
  const response = await reauthenticate()
  expect(cookieChanges(response)).toEqual({ set: ['service.jwt', 'service.session'], cleared: [] })
  expect(await call(cookiesAfter(ada.cookie, response))).toBe('200')
  expect(await call(ada.cookie)).toBe('401 TOKEN_INVALID')
  expect(await call(elsewhere.cookie)).toBe('200')
  expect(await sessionRow(elsewhere)).toEqual(before)
  expect(here).toHaveBeenCalledOnce()
  expect(there).not.toHaveBeenCalled()
})

test.each([false, true])(
  'the previous secret is superseded at once, and ends nothing; rotateSessionToken: %s',
  async (rotateSessionToken) => {
    const own = await createTestAuth({ session: { rotateSessionToken } })
    const bob = await own.signIn()
    const response = await own.handler(
      post(ENDPOINTS.reauthenticate.path, { password: TEST_PASSWORD }, { cookie: bob.cookie }),
    )
    const fresh = cookiesAfter(bob.cookie, response)
    for (const seconds of [0, 31, 3_600]) {
      own.clock.advance(seconds)
      const rejected = await refresh(bob.cookie, own)
      expect(cookieChanges(rejected)).toEqual({ set: [], cleared: [] })
      expect(await statusOf(rejected)).toBe('409 SECRET_SUPERSEDED')
    }
    expect(await statusOf(refresh(fresh, own))).toBe('200')
    await own.close()
  },
)

test("a browser that isn't remembered gets a cookie that expires with the browser session", async () => {
  const { headers } = await auth.api.createSession({
    userId: ada.userId,
    rememberMe: false,
    request: get('/'),
  })
  const cookie = cookiesAfter('', new Response(null, { headers }))
  const [jwt = '', session = ''] = (await reauthenticate(cookie)).headers.getSetCookie()
  expect(jwt).toMatch(/^service\.jwt=[^;]+; Path=\/; HttpOnly; SameSite=Lax$/)
  expect(session).toMatch(/^service\.session=[^;]+; Path=\/; HttpOnly; SameSite=Lax$/)
})

describe('rejects', () => {
  test.each([
    ['no session cookie', () => `service.jwt=${ada.token}`],
    ['a wrong secret', () => `service.jwt=${ada.token}; service.session=${ada.sessionId}.${'A'.repeat(91)}`],
  ])('a caller with a JWT and %s, before the password is checked or counted', async (_name, cookie) => {
    const before = await dumpTables(auth)
    for (let i = 0; i < 11; i++)
      for (const password of ['wrong', TEST_PASSWORD]) {
        const response = await reauthenticate(cookie(), { password })
        expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
        expect(await statusOf(response)).toBe('400 SESSION_SECRET_REQUIRED')
      }
    expect(await dumpTables(auth)).toEqual(before)
    expect(await statusOf(reauthenticate())).toBe('200')
  })

  test.each([
    ['wrong password', '401 INVALID_CREDENTIALS'],
    ['', '401 INVALID_CREDENTIALS'],
    [TEST_PASSWORD.toUpperCase(), '401 INVALID_CREDENTIALS'],
    [` ${TEST_PASSWORD}`, '401 INVALID_CREDENTIALS'],
    ['x'.repeat(513), '400 INVALID_INPUT'],
    ['\ud800', '400 INVALID_INPUT'],
    [1, '400 INVALID_INPUT'],
    [null, '400 INVALID_INPUT'],
  ])('the password %j: %s, and nothing changes', async (password, answer) => {
    const before = await dumpTables(auth)
    const response = await reauthenticate(ada.cookie, { password })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await statusOf(response)).toBe(answer)
    expect(await dumpTables(auth)).toEqual(before)
  })

  test('the password of another user', async () => {
    const bob = await auth.createUser({ password: 'the password of Bob' })
    expect(await statusOf(reauthenticate(ada.cookie, { password: 'the password of Bob' }))).toBe(
      '401 INVALID_CREDENTIALS',
    )
    expect(bob.userId).not.toBe(ada.userId)
  })

  test('a user without a password', async () => {
    await auth.db.deleteFrom('account').where('userId', '=', ada.userId).execute()
    expect(await statusOf(reauthenticate())).toBe('401 INVALID_CREDENTIALS')
  })

  test('with a message that mentions only the password, not an email', async () => {
    const response = await reauthenticate(ada.cookie, { password: 'wrong password' })
    expect(await response.json()).toMatchObject({ message: 'The password is wrong. Try again.' })
  })

  test('and records a wrong password', async () => {
    await reauthenticate(ada.cookie, { password: 'wrong password' })
    const records = auth.db
      .selectFrom('sallyport.audit')
      .select(['type', 'detail'])
      .where('userId', '=', ada.userId)
    expect(await records.execute()).toContainEqual({
      type: 'sign-in.failed',
      detail: '{"reason":"INVALID_CREDENTIALS"}',
    })
  })

  test('more than ten passwords in 15 minutes, including the right one', async () => {
    for (let i = 0; i < 10; i++)
      expect(await statusOf(reauthenticate(ada.cookie, { password: `wrong ${i}` }))).toBe(
        '401 INVALID_CREDENTIALS',
      )
    const rejected = await reauthenticate()
    const seconds = Number(rejected.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(600)
    expect(seconds).toBeLessThanOrEqual(900)
    expect(await statusOf(rejected)).toBe('429 RATE_LIMITED')
  })

  test('a copy on another network once it has used up its attempts, and not the user', async () => {
    const from = (remoteAddress: string, password: string, cookie = ada.cookie) =>
      statusOf(auth.handler(post(ENDPOINTS.reauthenticate.path, { password }, { cookie }), { remoteAddress }))
    for (let i = 0; i < 10; i++) expect(await from('192.0.2.66', 'wrong')).toBe('401 INVALID_CREDENTIALS')
    expect(await from('192.0.2.66', TEST_PASSWORD)).toBe('429 RATE_LIMITED')
    expect(await from('198.51.100.1', TEST_PASSWORD)).toBe('200')
  })

  test('an older version once it has used up its attempts, and not the current one', async () => {
    for (let i = 0; i < 9; i++) await reauthenticate(ada.cookie, { password: 'wrong' })
    const cookie = cookiesAfter(ada.cookie, await reauthenticate())
    expect(await statusOf(reauthenticate(ada.cookie))).toBe('401 TOKEN_INVALID')
    expect(await statusOf(reauthenticate(cookie, { password: 'wrong' }))).toBe('401 INVALID_CREDENTIALS')
    expect(await statusOf(reauthenticate(cookie))).toBe('200')
  })

  test('any network, once the user has used up five times as many attempts', async () => {
    const from = (i: number, password = 'wrong') =>
      statusOf(
        auth.handler(post(ENDPOINTS.reauthenticate.path, { password }, { cookie: ada.cookie }), {
          remoteAddress: `192.0.2.${i}`,
        }),
      )
    for (let i = 0; i < 50; i++) expect(await from(i)).toBe('401 INVALID_CREDENTIALS')
    expect(await from(51, TEST_PASSWORD)).toBe('429 RATE_LIMITED')
  })

  test('an eleventh change of the credentials within 15 minutes', async () => {
    const plenty = { points: 1_000_000, duration: 60 }
    const own = await createTestAuth({ emailPassword: { limits: { account: plenty } } })
    const bob = await own.signIn()
    let { cookie } = bob
    const change = () =>
      own.handler(post(ENDPOINTS.reauthenticate.path, { password: TEST_PASSWORD }, { cookie }))
    for (let i = 0; i < 10; i++) {
      const response = await change()
      expect(response.status).toBe(200)
      cookie = cookiesAfter(cookie, response)
    }
    const rejected = await change()
    expect(cookieChanges(rejected)).toEqual({ set: [], cleared: [] })
    expect(await statusOf(rejected)).toBe('429 RATE_LIMITED')
    expect(await statusOf(refresh(cookie, own))).toBe('200')
    await own.close()
  })
})

test.each([
  ['fails', () => Promise.reject(new Error('disk I/O error'))],
  ['never ends', () => new Promise<never>(() => {})],
])('a lookup of the secret that %s is 503', async (_how, findToken) => {
  const own = await createTestAuth({ session: { lookupTimeoutMs: 50 } })
  onTestFinished(() => own.close())
  const { cookie } = await own.signIn()
  vi.spyOn(own.database.sessions, 'findToken').mockImplementation(findToken)
  const response = await own.handler(
    post(ENDPOINTS.reauthenticate.path, { password: TEST_PASSWORD }, { cookie }),
  )
  expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
  expect(await statusOf(response)).toBe('503 SESSIONS_UNAVAILABLE')
})

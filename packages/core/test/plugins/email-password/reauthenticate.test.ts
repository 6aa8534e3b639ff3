import { ENDPOINTS } from '@sallyport/core/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { answerOf } from '../../support/answer-of.ts'
import { dumpTables } from '../../support/dump-tables.ts'
import { hearRevocations } from '../../support/hear-revocations.ts'
import { cookieChanges, cookiesAfter, get, post } from '../../support/requests.ts'
import { createUserMaker } from '../../support/user-maker.ts'

const auth = await createTestAuth()
const makeUser = await createUserMaker(auth)
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  ada = await auth.signIn(await makeUser())
})

const reauthenticate = (cookie = ada.cookie, body: unknown = { password: TEST_PASSWORD }) =>
  auth.handler(post(ENDPOINTS.reauthenticate.path, body, { cookie }))
const refresh = (cookie: string, on = auth) => on.handler(get(ENDPOINTS.token.path, { cookie }))
const call = (cookie: string) => answerOf(auth.handler(get(ENDPOINTS.getSession.path, { cookie })))
const sessionRow = ({ sessionId }: TestSession) =>
  auth.db.selectFrom('session').selectAll().where('id', '=', sessionId).executeTakeFirstOrThrow()

test('what answered SESSION_NOT_FRESH passes afterwards, and the id of the session stays', async () => {
  const changeEmail = (cookie: string) =>
    answerOf(auth.handler(post(ENDPOINTS.changeEmail.path, { newEmail: 'x@example.com' }, { cookie })))
  const lastAuthenticatedAt = new Date(auth.clock.now().getTime() - 15 * 60_000 - 1)
  await auth.db.updateTable('session').set({ lastAuthenticatedAt }).where('id', '=', ada.sessionId).execute()
  expect(await changeEmail(ada.cookie)).toBe('403 SESSION_NOT_FRESH')
  const response = await reauthenticate()
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ success: true })
  const cookie = cookiesAfter(ada.cookie, response)
  // It has no emails to send; the caller has been let in.
  expect(await changeEmail(cookie)).toBe('501 EMAIL_UNAVAILABLE')
  expect(await sessionRow(ada)).toMatchObject({
    id: ada.sessionId,
    lastAuthenticatedAt: auth.clock.now().toISOString(),
  })
})

test('the secret changes, and the session lives no longer for it', async () => {
  const before = await sessionRow(ada)
  auth.clock.advance(3_600)
  const { cookie } = await auth.expireJwt(ada)
  const fresh = cookiesAfter(cookie, await refresh(cookie))
  const response = await reauthenticate(fresh)
  const [header = ''] = response.headers.getSetCookie()
  const left = 30 * 24 * 3_600 - 3_600
  expect(header).toMatch(
    new RegExp(
      `^service\\.session=${ada.sessionId}\\.[\\w-]{43}; Max-Age=${left}; Path=/; HttpOnly; SameSite=Lax$`,
    ),
  )
  expect(header).not.toContain(ada.sessionCookie)
  const after = await sessionRow(ada)
  expect(after.token).not.toBe(before.token)
  expect(after).toMatchObject({ previousToken: before.token, expiresAt: before.expiresAt })
  expect(await call(cookiesAfter(fresh, response))).toBe('200')
})

test('the JWT at hand goes on, and the other sessions of the user stay as they are', async () => {
  const elsewhere = await auth.signIn(ada)
  const before = await sessionRow(elsewhere)
  const heard = hearRevocations(auth, ada)
  const response = await reauthenticate()
  expect(cookieChanges(response)).toEqual({ set: ['service.session'], cleared: [] })
  expect(await call(cookiesAfter(ada.cookie, response))).toBe('200')
  expect(await sessionRow(elsewhere)).toEqual(before)
  expect(heard).not.toHaveBeenCalled()
})

test('the secret before it counts for 30 seconds more, and then no longer', async () => {
  const own = await createTestAuth()
  const bob = await own.signIn()
  const response = await own.handler(
    post(ENDPOINTS.reauthenticate.path, { password: TEST_PASSWORD }, { cookie: bob.cookie }),
  )
  const fresh = cookiesAfter(bob.cookie, response)
  expect(await answerOf(refresh(bob.cookie, own))).toBe('200')
  own.clock.advance(30)
  expect(await answerOf(refresh(bob.cookie, own))).toBe('200')
  own.clock.advance(0.001)
  const refused = await refresh(bob.cookie, own)
  expect(cookieChanges(refused)).toEqual({ set: [], cleared: ['service.jwt', 'service.session'] })
  expect(await answerOf(refused)).toBe('401 SESSION_NOT_FOUND')
  // It may be the browser of the user, late; the session is no worse for it.
  expect(await answerOf(refresh(fresh, own))).toBe('200')
  await own.close()
})

test('where secrets are rotated, the one before it ends the session after 30 seconds: someone has a copy', async () => {
  const own = await createTestAuth({ session: { rotateSessionToken: true } })
  const bob = await own.signIn()
  const response = await own.handler(
    post(ENDPOINTS.reauthenticate.path, { password: TEST_PASSWORD }, { cookie: bob.cookie }),
  )
  const fresh = cookiesAfter(bob.cookie, response)
  own.clock.advance(31)
  expect(await answerOf(refresh(bob.cookie, own))).toBe('401 SESSION_NOT_FOUND')
  expect(await answerOf(refresh(fresh, own))).toBe('401 SESSION_NOT_FOUND')
  await own.close()
})

test('a browser that is not remembered is given a cookie that ends with it', async () => {
  const { headers } = await auth.api.createSession({
    userId: ada.userId,
    rememberMe: false,
    request: get('/'),
  })
  const cookie = cookiesAfter('', new Response(null, { headers }))
  const [header = ''] = (await reauthenticate(cookie)).headers.getSetCookie()
  expect(header).toMatch(/^service\.session=[^;]+; Path=\/; HttpOnly; SameSite=Lax$/)
})

describe('where the browser has no secret of this session, no cookie changes, and the session is fresh', () => {
  test.each([
    ['no session cookie', () => `service.jwt=${ada.token}`],
    ['a wrong secret', () => `service.jwt=${ada.token}; service.session=${ada.sessionId}.${'A'.repeat(43)}`],
  ])('%s', async (_name, cookie) => {
    const { token } = await sessionRow(ada)
    auth.clock.advance(1)
    const response = await reauthenticate(cookie())
    expect(response.status).toBe(200)
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await sessionRow(ada)).toMatchObject({
      token,
      lastAuthenticatedAt: auth.clock.now().toISOString(),
    })
  })
})

describe('refuses', () => {
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
    expect(await answerOf(response)).toBe(answer)
    expect(await dumpTables(auth)).toEqual(before)
  })

  test('the password of another user', async () => {
    const bob = await auth.createUser({ password: 'the password of Bob' })
    expect(await answerOf(reauthenticate(ada.cookie, { password: 'the password of Bob' }))).toBe(
      '401 INVALID_CREDENTIALS',
    )
    expect(bob.userId).not.toBe(ada.userId)
  })

  test('whoever has no password', async () => {
    await auth.db.deleteFrom('account').where('userId', '=', ada.userId).execute()
    expect(await answerOf(reauthenticate())).toBe('401 INVALID_CREDENTIALS')
  })

  test('and leaves a record of a wrong password', async () => {
    await reauthenticate(ada.cookie, { password: 'wrong password' })
    const records = auth.db.selectFrom('audit').select(['type', 'detail']).where('userId', '=', ada.userId)
    expect(await records.execute()).toContainEqual({
      type: 'sign-in.failed',
      detail: '{"reason":"INVALID_CREDENTIALS"}',
    })
  })

  test('more than ten passwords in 15 minutes, the right one too', async () => {
    for (let i = 0; i < 10; i++)
      expect(await answerOf(reauthenticate(ada.cookie, { password: `wrong ${i}` }))).toBe(
        '401 INVALID_CREDENTIALS',
      )
    const refused = await reauthenticate()
    expect(refused.headers.get('retry-after')).toBe('900')
    expect(await answerOf(refused)).toBe('429 RATE_LIMITED')
  })
})

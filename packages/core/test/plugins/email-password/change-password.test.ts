import type { AuthEvent } from '@sallyport/core'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { dumpTables } from '../../support/dump-tables.ts'
import { insertLink } from '../../support/insert-link.ts'
import { createOutbox } from '../../support/outbox.ts'
import { readAudit } from '../../support/read-audit.ts'
import { cookieChanges, cookiesAfter, get, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import { subscribeToSession } from '../../support/subscribe-to-session.ts'
import type { MadeUser } from '../../support/user-maker.ts'

const outbox = createOutbox()
const events: AuthEvent[] = []
const limits = { address: { points: 1_000_000, duration: 60 } }
const auth = await createTestAuth({
  emailPassword: { sendEmail: outbox.sendEmail, limits },
  onEvent: (event) => void events.push(event),
})
afterAll(() => auth.close())

const NEW_PASSWORD = 'another rare password'
let user: MadeUser
let ada: TestSession
beforeEach(async () => {
  user = await auth.createUser()
  ada = await auth.signIn(user)
  await outbox.empty()
  events.length = 0
})

const changePassword = (body: object = {}, cookie = ada.cookie) =>
  auth.handler(
    post(
      ENDPOINTS.changePassword.path,
      { currentPassword: TEST_PASSWORD, newPassword: NEW_PASSWORD, ...body },
      { cookie },
    ),
  )
const signIn = (password: string, cookie = '', { email } = user) =>
  auth.handler(post(ENDPOINTS.signInEmail.path, { email, password }, { ...(cookie && { cookie }) }))
const call = (cookie: string) => statusOf(auth.handler(get(ENDPOINTS.getSession.path, { cookie })))
const knownDevices = async (of = user) =>
  (await dumpTables(auth)).knownDevice?.filter(({ userId }) => userId === of.userId)

test('a session whose expiry was set by hand without a zone continues', async () => {
  vi.stubEnv('TZ', 'Asia/Tokyo')
  onTestFinished(() => void vi.unstubAllEnvs())
  const end = new Date(auth.clock.now().getTime() + 60 * 60 * 1000).toISOString().slice(0, 19)
  const changed = auth.db.updateTable('session').set({ expiresAt: sql`${end}` })
  await changed.where('id', '=', ada.sessionId).execute()
  const response = await changePassword()
  expect(await statusOf(response)).toBe('200')
  expect(await call(cookiesAfter(ada.cookie, response))).toBe('200')
})

test("the new password works from now on, and the old one doesn't", async () => {
  const response = await changePassword()
  expect(await response.json()).toEqual({
    expiresIn: 900,
    expiresAt: expect.any(String),
    userId: user.userId,
    sessionId: ada.sessionId,
  })
  expect(await statusOf(signIn(TEST_PASSWORD))).toBe('401 INVALID_CREDENTIALS')
  expect(await statusOf(signIn(NEW_PASSWORD))).toBe('200')
  const dump = JSON.stringify(await dumpTables(auth))
  expect(dump).not.toContain(NEW_PASSWORD)
})

describe('the other sessions', () => {
  test('end, and the current one continues with new credentials', async () => {
    const [elsewhere, bob] = [await auth.signIn(user), await auth.signIn()]
    const [here, there] = [subscribeToSession(auth, ada), subscribeToSession(auth, elsewhere)]
    const response = await changePassword()
    expect(cookieChanges(response)).toEqual({ set: ['service.jwt', 'service.session'], cleared: [] })
    const cookie = cookiesAfter(ada.cookie, response)
    expect(cookie).not.toContain(ada.sessionCookie)
    expect(await call(cookie)).toBe('200')
    expect(await call(elsewhere.cookie)).toBe('401 SESSION_NOT_FOUND')
    expect(await call(bob.cookie)).toBe('200')
    expect(there).toHaveBeenCalledOnce()
    // Its sockets and streams must present the new credentials.
    expect(here).toHaveBeenCalledOnce()
  })

  test.each([
    [true, '401 SESSION_NOT_FOUND'],
    [false, '200'],
  ])('with revokeOtherSessions %s: %s', async (revokeOtherSessions, answer) => {
    const elsewhere = await auth.signIn(user)
    expect((await changePassword({ revokeOtherSessions })).status).toBe(200)
    expect(await call(elsewhere.cookie)).toBe(answer)
  })
})

describe('a copy of the credentials', () => {
  const refresh = (cookie: string) => statusOf(auth.handler(get(ENDPOINTS.token.path, { cookie })))

  test('stops working', async () => {
    const cookie = cookiesAfter(ada.cookie, await changePassword())
    expect(await refresh(ada.cookie)).toBe('409 SECRET_SUPERSEDED')
    expect(await call(ada.cookie)).toBe('401 TOKEN_INVALID')
    expect(await statusOf(changePassword({ currentPassword: NEW_PASSWORD }))).toBe('401 TOKEN_INVALID')
    expect(await refresh(cookie)).toBe('200')
    expect(await call(cookie)).toBe('200')
  })

  test("isn't made fresh; only the new credentials are", async () => {
    await auth.db
      .updateTable('session')
      .set({ lastAuthenticatedAt: new Date(0) })
      .where('userId', '=', user.userId)
      .execute()
    const cookie = cookiesAfter(ada.cookie, await changePassword())
    const deleteUser = (cookie: string) =>
      statusOf(auth.handler(post(ENDPOINTS.deleteUser.path, {}, { cookie })))
    expect(await deleteUser(ada.cookie)).toBe('401 TOKEN_INVALID')
    expect(await deleteUser(cookie)).toBe('200')
  })
})

test('the change is recorded with the ends of the sessions, and announced after that', async () => {
  const elsewhere = await auth.signIn(user)
  events.length = 0
  await changePassword()
  const records = await readAudit(auth, user.userId)
  const here = { actorId: null, address: null }
  expect(records.slice(-3)).toEqual([
    { ...here, type: 'session.revoked', sessionId: elsewhere.sessionId, cause: 'password-changed' },
    { ...here, type: 'user.password-changed', sessionId: null },
    {
      ...here,
      type: 'session.version-changed',
      sessionId: ada.sessionId,
      cause: 'password-changed',
      version: 2,
    },
  ])
  expect(events.map(({ type }) => type)).toEqual([
    'session.revoked',
    'user.password-changed',
    'session.version-changed',
  ])
})

test('the user is notified by email', async () => {
  await changePassword()
  expect(await outbox.takeNotice('password-changed')).toEqual({
    kind: 'password-changed',
    to: user.email,
    user: { id: user.userId, name: 'Test User', email: user.email },
  })
})

describe('links that were sent before', () => {
  test.each([
    ['reset-password', ENDPOINTS.resetPassword.path, { newPassword: 'yet another password' }],
    ['change-email', ENDPOINTS.verifyEmail.path, {}],
  ] as const)('of the kind %s no longer work', async (kind, path, input) => {
    const token = await insertLink(auth, { kind, userId: user.userId, email: 'eve@example.com' })
    await changePassword()
    const before = await dumpTables(auth)
    expect(await statusOf(auth.handler(post(path, { token, ...input })))).toBe('400 LINK_INVALID')
    expect(await dumpTables(auth)).toEqual(before)
  })
})

test('browsers that had signed in before are no longer known, except the current one', async () => {
  const [here, there] = [await signIn(TEST_PASSWORD), await signIn(TEST_PASSWORD)]
  expect([here.status, there.status]).toEqual([200, 200])
  expect(await knownDevices()).toHaveLength(2)
  const other = await auth.createUser()
  await signIn(TEST_PASSWORD, '', other)
  await changePassword({}, cookiesAfter('', here))
  expect(await knownDevices()).toHaveLength(1)
  expect(await knownDevices(other)).toHaveLength(1)
  await signIn(NEW_PASSWORD, cookiesAfter('', here))
  expect(await knownDevices()).toHaveLength(1)
})

describe('rejects', () => {
  test.each<[object, string, readonly string[] | undefined]>([
    [{ currentPassword: 'wrong password' }, '401 INVALID_CREDENTIALS', undefined],
    [{ currentPassword: '' }, '401 INVALID_CREDENTIALS', undefined],
    [{ currentPassword: NEW_PASSWORD }, '401 INVALID_CREDENTIALS', undefined],
    [{ newPassword: 'seven77' }, '400 INVALID_INPUT', ['newPassword']],
    [{ newPassword: 'x'.repeat(257) }, '400 INVALID_INPUT', ['newPassword']],
    [{ newPassword: `${'x'.repeat(8)}\ud800` }, '400 INVALID_INPUT', ['newPassword']],
    [{ newPassword: 12345678 }, '400 INVALID_INPUT', ['newPassword']],
    [{ newPassword: 'password123' }, '400 PASSWORD_TOO_COMMON', undefined],
    [{ newPassword: 'PASSWORD123' }, '400 PASSWORD_TOO_COMMON', undefined],
    [{ revokeOtherSessions: 'no' }, '400 INVALID_INPUT', ['revokeOtherSessions']],
    [{ userId: 'x' }, '400 INVALID_INPUT', ['userId']],
  ])('%j: %s, and nothing changes', async (body, answer, fields) => {
    const before = await dumpTables(auth)
    const response = await changePassword(body)
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    const { code, fields: named } = await response.json()
    expect({ answer: `${response.status} ${code}`, named }).toEqual({ answer, named: fields })
    expect(await dumpTables(auth)).toEqual(before)
  })

  test('the email address as a password', async () => {
    expect(await statusOf(changePassword({ newPassword: user.email }))).toBe('400 PASSWORD_TOO_COMMON')
    expect(await statusOf(changePassword({ newPassword: user.email.split('@')[0] }))).toBe(
      '400 PASSWORD_TOO_COMMON',
    )
  })
})

import type { AuthEvent } from '@sallyport/core'
import { ENDPOINTS } from '@sallyport/core/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { answerOf } from '../../support/answer-of.ts'
import { dumpTables } from '../../support/dump-tables.ts'
import { hearRevocations } from '../../support/hear-revocations.ts'
import { insertLink } from '../../support/insert-link.ts'
import { createOutbox } from '../../support/outbox.ts'
import { readAudit } from '../../support/read-audit.ts'
import { cookieChanges, cookiesAfter, get, post } from '../../support/requests.ts'
import { createUserMaker, type MadeUser } from '../../support/user-maker.ts'

const outbox = createOutbox()
const events: AuthEvent[] = []
const limits = { address: { points: 1_000_000, duration: 60 } }
const auth = await createTestAuth({
  emailPassword: { sendEmail: outbox.sendEmail, limits },
  onEvent: (event) => void events.push(event),
})
const makeUser = await createUserMaker(auth)
afterAll(() => auth.close())

const NEW_PASSWORD = 'another rare password'
let user: MadeUser
let ada: TestSession
beforeEach(async () => {
  user = await makeUser()
  ada = await auth.signIn(user)
  outbox.emails.length = 0
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
const signIn = (password: string, cookie = '') =>
  auth.handler(
    post(ENDPOINTS.signInEmail.path, { email: user.email, password }, { ...(cookie && { cookie }) }),
  )
const call = (cookie: string) => answerOf(auth.handler(get(ENDPOINTS.getSession.path, { cookie })))
const knownDevices = async () =>
  (await dumpTables(auth)).knownDevice?.filter(({ userId }) => userId === user.userId)

test('from now on the new password counts, and the old one does not', async () => {
  const response = await changePassword()
  expect(await response.json()).toEqual({ success: true })
  expect(await answerOf(signIn(TEST_PASSWORD))).toBe('401 INVALID_CREDENTIALS')
  expect(await answerOf(signIn(NEW_PASSWORD))).toBe('200')
  const dump = JSON.stringify(await dumpTables(auth))
  expect(dump).not.toContain(NEW_PASSWORD)
})

describe('the other sessions', () => {
  test('end, and the one that asks goes on with another secret', async () => {
    const [elsewhere, bob] = [await auth.signIn(user), await auth.signIn(await makeUser())]
    const [here, there] = [hearRevocations(auth, ada), hearRevocations(auth, elsewhere)]
    const response = await changePassword()
    expect(cookieChanges(response)).toEqual({ set: ['service.session'], cleared: [] })
    const cookie = cookiesAfter(ada.cookie, response)
    expect(cookie).not.toContain(ada.sessionCookie)
    expect(await call(cookie)).toBe('200')
    expect(await call(elsewhere.cookie)).toBe('401 SESSION_NOT_FOUND')
    expect(await call(bob.cookie)).toBe('200')
    expect(there).toHaveBeenCalledOnce()
    expect(here).not.toHaveBeenCalled()
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

describe('whoever has a copy of the session cookie', () => {
  const refresh = (cookie: string) => answerOf(auth.handler(get(ENDPOINTS.token.path, { cookie })))

  test('has none that counts any longer', async () => {
    const cookie = cookiesAfter(ada.cookie, await changePassword())
    expect(await refresh(ada.cookie)).toBe('401 SESSION_NOT_FOUND')
    expect(await refresh(cookie)).toBe('200')
  })

  test('does not make their session fresh: deleting the account still asks for the password', async () => {
    await auth.db
      .updateTable('session')
      .set({ lastAuthenticatedAt: new Date(0) })
      .where('userId', '=', user.userId)
      .execute()
    const cookie = cookiesAfter(ada.cookie, await changePassword())
    const deleteUser = auth.handler(post(ENDPOINTS.deleteUser.path, {}, { cookie }))
    expect(await answerOf(deleteUser)).toBe('403 SESSION_NOT_FRESH')
  })
})

test('it is recorded with the ends of the sessions, and told after that', async () => {
  const elsewhere = await auth.signIn(user)
  events.length = 0
  await changePassword()
  const records = await readAudit(auth, user.userId)
  const here = { actorId: null, address: null }
  expect(records.slice(-2)).toEqual([
    { ...here, type: 'session.revoked', sessionId: elsewhere.sessionId, cause: 'password-changed' },
    { ...here, type: 'user.password-changed', sessionId: null },
  ])
  expect(events.map(({ type }) => type)).toEqual(['session.revoked', 'user.password-changed'])
})

test('its owner is told by email', async () => {
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
  ] as const)('of the kind %s are useless', async (kind, path, input) => {
    const token = await insertLink(auth, { kind, userId: user.userId, email: 'eve@example.com' })
    await changePassword()
    const before = await dumpTables(auth)
    expect(await answerOf(auth.handler(post(path, { token, ...input })))).toBe('400 LINK_INVALID')
    expect(await dumpTables(auth)).toEqual(before)
  })
})

test('browsers that had signed in before are no longer known, but for the one at hand', async () => {
  const [here, there] = [await signIn(TEST_PASSWORD), await signIn(TEST_PASSWORD)]
  expect([here.status, there.status]).toEqual([200, 200])
  expect(await knownDevices()).toHaveLength(2)
  await changePassword({}, cookiesAfter('', here))
  expect(await knownDevices()).toHaveLength(1)
  const again = await signIn(NEW_PASSWORD, cookiesAfter('', here))
  expect(cookieChanges(again).set).not.toContain('service.device')
  expect(await knownDevices()).toHaveLength(1)
})

describe('refuses', () => {
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

  test('the email address for a password', async () => {
    expect(await answerOf(changePassword({ newPassword: user.email }))).toBe('400 PASSWORD_TOO_COMMON')
    expect(await answerOf(changePassword({ newPassword: user.email.split('@')[0] }))).toBe(
      '400 PASSWORD_TOO_COMMON',
    )
  })

  test('more than ten passwords in 15 minutes, counted together with those of reauthenticate', async () => {
    const reauthenticate = () =>
      answerOf(
        auth.handler(post(ENDPOINTS.reauthenticate.path, { password: 'wrong' }, { cookie: ada.cookie })),
      )
    for (let i = 0; i < 5; i++) {
      expect(await reauthenticate()).toBe('401 INVALID_CREDENTIALS')
      expect(await answerOf(changePassword({ currentPassword: 'wrong' }))).toBe('401 INVALID_CREDENTIALS')
    }
    expect(await answerOf(changePassword())).toBe('429 RATE_LIMITED')
    expect(await reauthenticate()).toBe('429 RATE_LIMITED')
  })
})

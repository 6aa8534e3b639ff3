import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { dumpTables } from '../../support/dump-tables.ts'
import { insertLink } from '../../support/insert-link.ts'
import { createOutbox } from '../../support/outbox.ts'
import { readAudit } from '../../support/read-audit.ts'
import { cookieChanges, cookiesAfter, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import type { MadeUser } from '../../support/user-maker.ts'

const outbox = createOutbox()
const PLENTY = { points: 1_000_000, duration: 60 }
const NEW_PASSWORD = 'another rare password'
const DAY_SECONDS = 24 * 3_600
const auth = await createTestAuth({
  emailPassword: {
    sendEmail: outbox.sendEmail,
    limits: { account: PLENTY, address: PLENTY, email: PLENTY },
  },
})
afterAll(() => auth.close())

let user: MadeUser
/** A browser of the account. A thief may have a copy of its cookies. */
let browser: TestSession
beforeEach(async () => {
  user = await auth.createUser()
  await auth.db.updateTable('user').set({ emailVerified: true }).where('id', '=', user.userId).execute()
  browser = await auth.signIn(user)
  await outbox.empty()
})

const newEmail = () => `${crypto.randomUUID()}@example.com`
const call = (name: keyof typeof ENDPOINTS, body: unknown = {}, cookie = '') =>
  auth.handler(post(ENDPOINTS[name].path, body, { cookie }))
const undo = (token: string) => call('undoEmailChange', { token })
const userRow = () =>
  auth.db.selectFrom('user').selectAll().where('id', '=', user.userId).executeTakeFirstOrThrow()
const sessionsOf = () => auth.db.selectFrom('session').selectAll().where('userId', '=', user.userId).execute()
const signIn = (email: string, password = TEST_PASSWORD) => call('signInEmail', { email, password })

/** Changes the address of the account, and returns the email that the former one received. */
async function changeEmail(to = newEmail()) {
  await call('changeEmail', { newEmail: to }, browser.cookie)
  const link = await outbox.takeLink('change-email')
  // Changes need different times.
  auth.clock.advance(1)
  const response = await call('verifyEmail', { token: link.token }, browser.cookie)
  expect(response.status).toBe(200)
  // The session continues with new credentials, which a thief in this browser also gets.
  browser = { ...browser, cookie: cookiesAfter(browser.cookie, response) }
  const notice = await outbox.takeNotice('email-changed')
  if (notice.token === null) throw new Error('The notice has no undo link')
  return { email: to, notice, token: notice.token }
}

async function isRejected(token: string, answer = '400 LINK_INVALID') {
  const before = await dumpTables(auth)
  expect(await statusOf(undo(token))).toBe(answer)
  expect(await dumpTables(auth)).toEqual(before)
}

describe('the undo link', () => {
  test('goes to the former address and is valid for 7 days', async () => {
    const { notice } = await changeEmail()
    expect(notice.to).toBe(user.email)
    expect(notice.expiresAt).toEqual(new Date(auth.clock.now().getTime() + 7 * DAY_SECONDS * 1000))
  })

  test('restores the address, verified, and ends all sessions', async () => {
    const { token } = await changeEmail()
    await auth.signIn(user)
    const response = await undo(token)
    expect(await response.json()).toEqual({ success: true })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await userRow()).toMatchObject({ email: user.email, emailVerified: 1 })
    expect(await sessionsOf()).toEqual([])
  })

  test('requires a new password, through a reset link that the restored address receives', async () => {
    const { token } = await changeEmail()
    await undo(token)
    const reset = await outbox.takeLink('reset-password')
    expect(reset).toMatchObject({ to: user.email, user: { id: user.userId, email: user.email } })
    expect(await statusOf(signIn(user.email))).toBe('401 INVALID_CREDENTIALS')
    const input = { token: reset.token, newPassword: NEW_PASSWORD }
    expect(await statusOf(call('resetPassword', input))).toBe('200')
    expect(await statusOf(signIn(user.email))).toBe('401 INVALID_CREDENTIALS')
    expect(await statusOf(signIn(user.email, NEW_PASSWORD))).toBe('200')
  })

  test('forgets the known devices', async () => {
    const signedIn = await signIn(user.email)
    await outbox.takeNotice('new-sign-in')
    expect(cookiesAfter('', signedIn)).toContain('service.device')
    const devices = async () =>
      (await dumpTables(auth)).knownDevice?.filter(({ userId }) => userId === user.userId)
    expect(await devices()).toHaveLength(1)
    await undo((await changeEmail()).token)
    expect(await devices()).toEqual([])
  })

  test("notifies the account's current address, without a link", async () => {
    const { email, token } = await changeEmail()
    await undo(token)
    await outbox.takeLink('reset-password')
    expect(await outbox.takeNotice('email-changed')).toMatchObject({
      to: email,
      token: null,
      expiresAt: null,
    })
  })

  test('is recorded with both addresses, before the ends of the sessions', async () => {
    const { email, token, notice } = await changeEmail()
    await undo(token)
    const addedSince = new Date((notice.expiresAt?.getTime() ?? 0) - 8 * DAY_SECONDS * 1000).toISOString()
    const here = { sessionId: null, actorId: null, address: null }
    expect((await readAudit(auth, user.userId)).slice(-2)).toEqual([
      { ...here, type: 'session.revoked', sessionId: browser.sessionId, cause: 'email-change-undone' },
      { ...here, type: 'user.email-change-undone', from: email, to: user.email, addedSince },
    ])
  })

  test('is stored as a hash', async () => {
    const { token } = await changeEmail()
    expect(JSON.stringify(await dumpTables(auth))).not.toContain(token)
  })
})

describe('the undo link voids every other link', () => {
  test.each([
    ['change-email', 'verifyEmail', {}],
    ['verify-email', 'verifyEmail', {}],
    ['reset-password', 'resetPassword', { newPassword: NEW_PASSWORD }],
    ['undo-email-change', 'undoEmailChange', {}],
  ] as const)('of the kind %s', async (kind, name, input) => {
    const { token } = await changeEmail()
    const { email } = await userRow()
    const others = [
      await insertLink(auth, { kind, userId: user.userId, email }),
      await insertLink(auth, { kind, userId: user.userId, email: user.email }),
    ]
    await undo(token)
    for (const other of others)
      expect(await statusOf(call(name, { token: other, ...input }))).toBe('400 LINK_INVALID')
  })
})

describe('a thief cannot void the undo link', () => {
  const changePassword = (currentPassword: string, newPassword: string) =>
    call('changePassword', { currentPassword, newPassword }, browser.cookie)

  test.each<[string, (email: string) => Promise<unknown>]>([
    ['by signing out', () => call('signOut', {}, browser.cookie)],
    ['by ending all sessions', () => call('revokeSessions', {}, browser.cookie)],
    ['by another password', () => changePassword(TEST_PASSWORD, NEW_PASSWORD)],
    [
      'by a reset of the password',
      async (email) => {
        await call('requestPasswordReset', { email })
        const { token } = await outbox.takeLink('reset-password')
        expect(await statusOf(call('resetPassword', { token, newPassword: NEW_PASSWORD }))).toBe('200')
      },
    ],
    ['by requesting a verification link', () => call('sendVerificationEmail', {}, browser.cookie)],
    ['by requesting another change', () => call('changeEmail', { newEmail: newEmail() }, browser.cookie)],
  ])('%s', async (_name, act) => {
    const { email, token } = await changeEmail()
    await act(email)
    expect(await statusOf(undo(token))).toBe('200')
    expect(await userRow()).toMatchObject({ email: user.email })
    expect(await sessionsOf()).toEqual([])
  })

  test('by a second change: the oldest link restores the first address and voids the newer one', async () => {
    const first = await changeEmail()
    const second = await changeEmail()
    expect(second.notice.to).toBe(first.email)
    expect(await statusOf(undo(first.token))).toBe('200')
    expect(await userRow()).toMatchObject({ email: user.email })
    await outbox.takeLink('reset-password')
    await outbox.takeNotice('email-changed')
    await isRejected(second.token)
  })

  test('by undoing a second change', async () => {
    const first = await changeEmail()
    const second = await changeEmail()
    expect(await statusOf(undo(second.token))).toBe('200')
    expect(await userRow()).toMatchObject({ email: first.email })
    expect(await statusOf(undo(first.token))).toBe('200')
    expect(await userRow()).toMatchObject({ email: user.email })
  })

  test('by moving the account back to the first address', async () => {
    const first = await changeEmail()
    await changeEmail(user.email)
    expect(await statusOf(undo(first.token))).toBe('200')
    expect(await userRow()).toMatchObject({ email: user.email })
    expect(await sessionsOf()).toEqual([])
    expect(await outbox.takeLink('reset-password')).toMatchObject({ to: user.email })
  })

  test('by signing up with the former address', async () => {
    const { token } = await changeEmail()
    const input = { name: 'Eve', email: user.email, password: NEW_PASSWORD }
    expect(await statusOf(call('signUpEmail', input))).toBe('409 EMAIL_TAKEN')
    expect(await statusOf(undo(token))).toBe('200')
  })

  test('by moving another account to the former address', async () => {
    const accomplice = await auth.signIn()
    const { token } = await changeEmail()
    expect(await statusOf(call('changeEmail', { newEmail: user.email }, accomplice.cookie))).toBe('200')
    // As if it had been requested before the address was reserved.
    const { userId } = accomplice
    const link = await insertLink(auth, { kind: 'change-email', userId, email: user.email })
    expect(await statusOf(call('verifyEmail', { token: link }, accomplice.cookie))).toBe('409 EMAIL_TAKEN')
    expect(await statusOf(undo(token))).toBe('200')
    // The request above sent nothing.
    expect(await outbox.takeLink('reset-password')).toMatchObject({ to: user.email })
  })
})

test('the former address is free again when the link has expired', async () => {
  await changeEmail()
  auth.clock.advance(7 * DAY_SECONDS)
  const input = { name: 'Eve', email: user.email, password: NEW_PASSWORD }
  expect(await statusOf(call('signUpEmail', input))).toBe('200')
  await outbox.takeLink('verify-email')
  auth.clock.advance(-7 * DAY_SECONDS)
})

test('an unverified former address receives a notice without a link, and is free at once', async () => {
  await auth.db.updateTable('user').set({ emailVerified: false }).where('id', '=', user.userId).execute()
  await call('changeEmail', { newEmail: newEmail() }, browser.cookie)
  const link = await outbox.takeLink('change-email')
  expect((await call('verifyEmail', { token: link.token }, browser.cookie)).status).toBe(200)
  const notice = await outbox.takeNotice('email-changed')
  expect(notice).toMatchObject({ to: user.email, token: null, expiresAt: null })
  const signUp = { name: 'Owner', email: user.email, password: NEW_PASSWORD }
  expect((await call('signUpEmail', signUp)).status).toBe(200)
  await outbox.takeLink('verify-email')
})

test('an address that the app gave to another account is 409, and the link stays valid', async () => {
  const { token } = await changeEmail()
  const other = await auth.createUser()
  const give = (email: string) =>
    auth.db.updateTable('user').set({ email }).where('id', '=', other.userId).execute()
  await give(user.email)
  await isRejected(token, '409 EMAIL_TAKEN')
  await give(other.email)
  expect(await statusOf(undo(token))).toBe('200')
})

test('a concurrent sign-in with the old password creates no session', async () => {
  const { email, token } = await changeEmail()
  const signingIn = signIn(email)
  const [answer] = await Promise.all([statusOf(signingIn), undo(token)])
  expect(['200', '401 INVALID_CREDENTIALS']).toContain(answer)
  expect(await sessionsOf()).toEqual([])
})

describe('with undoEmailChange: false', async () => {
  const notices = createOutbox()
  const without = await createTestAuth({
    emailPassword: { sendEmail: notices.sendEmail, undoEmailChange: false },
  })
  afterAll(() => without.close())

  test('the former address receives a notice without a link, and is free at once', async () => {
    const ada = await without.createUser()
    const email = newEmail()
    const token = await insertLink(without, { kind: 'change-email', userId: ada.userId, email })
    await without.handler(post(ENDPOINTS.verifyEmail.path, { token, password: TEST_PASSWORD }))
    expect(await notices.takeNotice('email-changed')).toMatchObject({ to: ada.email, token: null })
    const input = { name: 'Eve', email: ada.email, password: NEW_PASSWORD }
    expect(await statusOf(without.handler(post(ENDPOINTS.signUpEmail.path, input)))).toBe('200')
  })

  test('an earlier link is invalid', async () => {
    const ada = await without.createUser()
    const token = await insertLink(without, { kind: 'undo-email-change', ...ada })
    const response = without.handler(post(ENDPOINTS.undoEmailChange.path, { token }))
    expect(await statusOf(response)).toBe('400 LINK_INVALID')
  })
})

test('uses are counted by network', async () => {
  const counted = await createTestAuth({
    emailPassword: { sendEmail: outbox.sendEmail, limits: { address: { points: 2, duration: 60 } } },
  })
  const attempt = () =>
    statusOf(counted.handler(post(ENDPOINTS.undoEmailChange.path, { token: 'A'.repeat(43) })))
  expect([await attempt(), await attempt(), await attempt()]).toEqual([
    '400 LINK_INVALID',
    '400 LINK_INVALID',
    '429 RATE_LIMITED',
  ])
  await counted.close()
})

import type { AuthEvent } from '@sallyport/core'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { dumpTables, rowsOf } from '../../support/dump-tables.ts'
import { insertLink } from '../../support/insert-link.ts'
import { createOutbox } from '../../support/outbox.ts'
import { readAudit } from '../../support/read-audit.ts'
import { cookieChanges, cookiesAfter, get, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import { subscribeToSession } from '../../support/subscribe-to-session.ts'
import type { MadeUser } from '../../support/user-maker.ts'

const outbox = createOutbox()
const PLENTY = { points: 1_000_000, duration: 60 }
const limits = { address: PLENTY, account: PLENTY }
const events: AuthEvent[] = []
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

const ask = (email: string, headers?: Record<string, string>) =>
  auth.handler(post(ENDPOINTS.requestPasswordReset.path, { email }, headers))
const reset = (token: string, newPassword: string = NEW_PASSWORD, headers?: Record<string, string>) =>
  auth.handler(post(ENDPOINTS.resetPassword.path, { token, newPassword }, headers))
/** Returns the token of a link that was emailed. */
const receive = async (email = user.email) => {
  await ask(email)
  return (await outbox.takeLink('reset-password')).token
}
const signIn = (password: string, email = user.email) =>
  auth.handler(post(ENDPOINTS.signInEmail.path, { email, password }))
const links = async () =>
  (await dumpTables(auth)).verification?.filter(({ userId }) => userId === user.userId) ?? []

describe('a request for a link', () => {
  test('sends it by email, valid for an hour', async () => {
    await ask(user.email)
    expect(await outbox.takeLink('reset-password')).toEqual({
      kind: 'reset-password',
      to: user.email,
      token: expect.stringMatching(/^[\w-]{43}$/),
      expiresAt: new Date(auth.clock.now().getTime() + 3_600_000),
      user: { id: user.userId, name: 'Test User', email: user.email },
    })
  })

  test.each([
    ['in another case', (email: string) => email.toUpperCase()],
    ['with white space around it', (email: string) => ` ${email}\t`],
  ])('accepts the address %s', async (_name, write) => {
    await ask(write(user.email))
    expect(await outbox.takeLink('reset-password')).toMatchObject({ to: user.email })
  })

  test('gets the same response, byte for byte, whether the account exists or not', async () => {
    const known = await ask(user.email)
    const unknown = await ask(`${crypto.randomUUID()}@example.com`)
    const [sent, answered] = [await known.text(), await unknown.text()]
    expect(known.status).toBe(200)
    expect(unknown.status).toBe(200)
    expect(answered).toBe(sent)
    expect([...unknown.headers]).toEqual([...known.headers])
    await outbox.takeLink('reset-password')
  })

  test.each([
    ['banned', async () => auth.ban(ada)],
    [
      'without a password',
      async () => void (await auth.db.deleteFrom('account').where('userId', '=', user.userId).execute()),
    ],
    [
      'who is an admin',
      async () =>
        void (await auth.db
          .updateTable('user')
          .set({ role: 'admin' })
          .where('id', '=', user.userId)
          .execute()),
    ],
  ])('gets the same response for a user %s', async (_name, given) => {
    await given()
    const response = await ask(user.email)
    expect(await response.text()).toBe('{"success":true}')
    await outbox.takeLink('reset-password')
  })

  test('for an unknown address sends nothing and stores nothing', async () => {
    const before = await dumpTables(auth)
    await ask(`${crypto.randomUUID()}@example.com`)
    // A later email arrives alone.
    await ask(user.email)
    expect(await outbox.takeLink('reset-password')).toMatchObject({ to: user.email })
    expect(outbox.emails).toEqual([])
    expect((await dumpTables(auth)).verification).toHaveLength((before.verification?.length ?? 0) + 1)
  })

  test('changes nothing in the account or its sessions', async () => {
    const before = rowsOf(user.userId, await dumpTables(auth))
    await receive()
    expect(rowsOf(user.userId, await dumpTables(auth))).toEqual(before)
    expect(events).toMatchObject([{ type: 'recovery.requested', userId: user.userId }])
  })

  test.each([{}, { email: 'ada' }, { email: '' }, { email: ['a@example.com'] }, { email: null }])(
    'with %j gets 400',
    async (body) => {
      const response = await auth.handler(post(ENDPOINTS.requestPasswordReset.path, body))
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ code: 'INVALID_INPUT', fields: ['email'] })
    },
  )
})

test('only the hash of a link is stored', async () => {
  const token = await receive()
  const [link] = await links()
  expect(link).toMatchObject({
    id: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    purpose: 'reset-password',
  })
  expect(JSON.stringify(await dumpTables(auth))).not.toContain(token)
})

describe('a link', () => {
  test('sets the password', async () => {
    const token = await receive()
    const response = await reset(token)
    expect(await response.json()).toEqual({ success: true })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await statusOf(signIn(TEST_PASSWORD))).toBe('401 INVALID_CREDENTIALS')
    expect(await statusOf(signIn(NEW_PASSWORD))).toBe('200')
  })

  test("never replaces another user's password, copied with an accountId that is the id of this user", async () => {
    const other = await auth.createUser()
    await auth.db.deleteFrom('account').where('userId', '=', user.userId).execute()
    const copied = auth.db.updateTable('account').set({ accountId: user.userId })
    await copied.where('userId', '=', other.userId).execute()
    await reset(await receive())
    expect(await statusOf(signIn(NEW_PASSWORD, other.email))).toBe('401 INVALID_CREDENTIALS')
    expect(await statusOf(signIn(TEST_PASSWORD, other.email))).toBe('200')
  })

  test('replaces a password that was copied from another library with another accountId', async () => {
    const users = auth.db.updateTable('user').set({ emailVerified: true })
    await users.where('id', '=', user.userId).execute()
    const accounts = auth.db.updateTable('account').set({ accountId: user.email })
    await accounts.where('userId', '=', user.userId).execute()
    await reset(await receive())
    expect(await statusOf(signIn(TEST_PASSWORD))).toBe('401 INVALID_CREDENTIALS')
    expect(await statusOf(signIn(NEW_PASSWORD))).toBe('200')
    const stored = auth.db.selectFrom('account').select('accountId').where('userId', '=', user.userId)
    expect(await stored.execute()).toEqual([{ accountId: user.email }])
  })

  test('ends all sessions of the user, and their streams, and no others', async () => {
    const [elsewhere, bob] = [await auth.signIn(user), await auth.signIn()]
    const listeners = [ada, elsewhere, bob].map((session) => subscribeToSession(auth, session))
    // Also in the browser where the user is signed in.
    await reset(await receive(), NEW_PASSWORD, { cookie: ada.cookie })
    for (const { cookie } of [ada, elsewhere])
      expect(await statusOf(auth.handler(get(ENDPOINTS.getSession.path, { cookie })))).toBe(
        '401 SESSION_NOT_FOUND',
      )
    const { cookie } = bob
    expect(await statusOf(auth.handler(get(ENDPOINTS.getSession.path, { cookie })))).toBe('200')
    expect(listeners.map(({ mock }) => mock.calls.length)).toEqual([1, 1, 0])
  })

  test("verifies the user's address", async () => {
    await reset(await receive())
    const row = auth.db.selectFrom('user').select('emailVerified').where('id', '=', user.userId)
    expect(await row.executeTakeFirst()).toEqual({ emailVerified: 1 })
  })

  test('gives a password to a user without one', async () => {
    await auth.db.deleteFrom('account').where('userId', '=', user.userId).execute()
    await reset(await receive())
    expect(await statusOf(signIn(NEW_PASSWORD))).toBe('200')
  })

  test('forgets the browsers of the user, but not those of other users', async () => {
    const signedIn = await signIn(TEST_PASSWORD)
    expect(cookiesAfter('', signedIn)).toContain('service.device')
    const other = await auth.createUser()
    await signIn(TEST_PASSWORD, other.email)
    const devices = async (of = user) =>
      (await dumpTables(auth)).knownDevice?.filter(({ userId }) => userId === of.userId)
    expect(await devices()).toHaveLength(1)
    await outbox.takeNotice('new-sign-in')
    await outbox.takeNotice('new-sign-in')
    await reset(await receive())
    expect(await devices()).toEqual([])
    expect(await devices(other)).toHaveLength(1)
  })

  test('is recorded, with the end of each session', async () => {
    await reset(await receive())
    const here = { actorId: null, address: null }
    expect((await readAudit(auth, user.userId)).slice(-3)).toEqual([
      { ...here, type: 'session.revoked', sessionId: ada.sessionId, cause: 'password-reset' },
      { ...here, type: 'user.verified', sessionId: null, email: user.email },
      { ...here, type: 'user.password-changed', sessionId: null },
    ])
    expect(events.map(({ type }) => type)).toEqual([
      'recovery.requested',
      'session.revoked',
      'user.verified',
      'user.password-changed',
    ])
  })

  test('sends an email about the change', async () => {
    await reset(await receive())
    expect(await outbox.takeNotice('password-changed')).toMatchObject({ to: user.email })
  })

  test('lifts no ban', async () => {
    await auth.ban(ada)
    expect(await statusOf(reset(await receive()))).toBe('200')
    expect(await statusOf(signIn(NEW_PASSWORD))).toBe('403 ACCOUNT_BANNED')
  })
})

describe('a link is invalid', () => {
  const rejected = async (token: string) => {
    const before = await dumpTables(auth)
    const response = await reset(token)
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await response.json()).toEqual({
      code: 'LINK_INVALID',
      message: 'This link has expired or has been used. Request a new one.',
    })
    expect(await dumpTables(auth)).toEqual(before)
  }

  test('once it has been used', async () => {
    const token = await receive()
    expect(await statusOf(reset(token))).toBe('200')
    await rejected(token)
  })

  test('for all but one of several concurrent uses', async () => {
    const token = await receive()
    const answers = await Promise.all(
      ['one password', 'two passwords', 'three passwords'].map((password) => reset(token, password)),
    )
    expect((await Promise.all(answers.map(statusOf))).sort()).toEqual([
      '200',
      '400 LINK_INVALID',
      '400 LINK_INVALID',
    ])
  })

  test('after an hour', async () => {
    const [token, inTime] = [await receive(), await receive((await auth.createUser()).email)]
    auth.clock.advance(3_599.999)
    expect(await statusOf(reset(inTime))).toBe('200')
    auth.clock.advance(0.001)
    await rejected(token)
    auth.clock.advance(-3_600)
  })

  test('once two others have been sent', async () => {
    const first = await receive()
    auth.clock.advance(1)
    const second = await receive()
    auth.clock.advance(1)
    const third = await receive()
    expect(await links()).toHaveLength(2)
    await rejected(first)
    expect(await statusOf(reset(second))).toBe('200')
    expect(await links()).toEqual([])
    await rejected(third)
  })

  test('once the password has been changed', async () => {
    const token = await receive()
    const passwords = { currentPassword: TEST_PASSWORD, newPassword: 'yet another password' }
    await auth.handler(post(ENDPOINTS.changePassword.path, passwords, { cookie: ada.cookie }))
    await rejected(token)
    expect(await statusOf(signIn('yet another password'))).toBe('200')
  })

  test('once the email has been changed', async () => {
    const token = await receive()
    const newEmail = `${crypto.randomUUID()}@example.com`
    await auth.handler(post(ENDPOINTS.changeEmail.path, { newEmail }, { cookie: ada.cookie }))
    const { token: change } = await outbox.takeLink('change-email')
    const link = { token: change, password: TEST_PASSWORD }
    expect(await statusOf(auth.handler(post(ENDPOINTS.verifyEmail.path, link)))).toBe('200')
    await rejected(token)
  })

  test("if its address is no longer the user's, for any reason", async () => {
    const token = await receive()
    const email = `${crypto.randomUUID()}@example.com`
    await auth.db.updateTable('user').set({ email }).where('id', '=', user.userId).execute()
    await rejected(token)
  })

  test('once the user is deleted', async () => {
    const token = await receive()
    await auth.handler(post(ENDPOINTS.deleteUser.path, {}, { cookie: ada.cookie }))
    await rejected(token)
  })

  test.each(['verify-email', 'change-email'] as const)(
    'if it was sent as %s, for which it stays valid',
    async (kind) => {
      const token = await insertLink(auth, { kind, userId: user.userId, email: user.email })
      await rejected(token)
      expect(await links()).toHaveLength(1)
    },
  )

  test('if it was made up', () => rejected('A'.repeat(43)))

  test('if it is the hash in the database', async () => {
    await receive()
    const [link] = await links()
    await rejected(String(link?.id))
  })
})

describe('rejects', () => {
  test.each([
    [{ newPassword: 'seven77' }, '400 INVALID_INPUT'],
    [{ newPassword: 'x'.repeat(257) }, '400 INVALID_INPUT'],
    [{ newPassword: 'password123' }, '400 PASSWORD_TOO_COMMON'],
    [{ token: '' }, '400 INVALID_INPUT'],
    [{ token: 'x'.repeat(129) }, '400 INVALID_INPUT'],
    [{ userId: 'x' }, '400 INVALID_INPUT'],
    [{ email: 'ada@example.com' }, '400 INVALID_INPUT'],
  ])('%j: %s, and the link stays valid', async (body, answer) => {
    const token = await receive()
    const before = await dumpTables(auth)
    const input = { token, newPassword: NEW_PASSWORD, ...body }
    expect(await statusOf(auth.handler(post(ENDPOINTS.resetPassword.path, input)))).toBe(answer)
    expect(await dumpTables(auth)).toEqual(before)
    expect(await statusOf(reset(token))).toBe('200')
  })

  test('the email address as a password, and the link stays valid', async () => {
    const token = await receive()
    expect(await statusOf(reset(token, user.email))).toBe('400 PASSWORD_TOO_COMMON')
    expect(await statusOf(reset(token))).toBe('200')
  })
})

test("the user's other pending links are invalid after it", async () => {
  const change = await insertLink(auth, {
    kind: 'change-email',
    userId: user.userId,
    email: 'eve@example.com',
  })
  await reset(await receive())
  expect(await statusOf(auth.handler(post(ENDPOINTS.verifyEmail.path, { token: change })))).toBe(
    '400 LINK_INVALID',
  )
})

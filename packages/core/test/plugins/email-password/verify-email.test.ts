import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { dumpTables } from '../../support/dump-tables.ts'
import { insertLink } from '../../support/insert-link.ts'
import { createOutbox } from '../../support/outbox.ts'
import { readAudit } from '../../support/read-audit.ts'
import { cookieChanges, cookiesAfter, get, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import type { MadeUser } from '../../support/user-maker.ts'

const outbox = createOutbox()
const PLENTY = { points: 1_000_000, duration: 60 }
const auth = await createTestAuth({
  emailPassword: { sendEmail: outbox.sendEmail, limits: { address: PLENTY } },
})
afterAll(() => auth.close())

let user: MadeUser
let ada: TestSession
beforeEach(async () => {
  user = await auth.createUser()
  ada = await auth.signIn(user)
  await outbox.empty()
})

const newEmail = () => `${crypto.randomUUID()}@example.com`
const call = (name: keyof typeof ENDPOINTS, body: unknown = {}, cookie = ada.cookie) =>
  auth.handler(post(ENDPOINTS[name].path, body, { cookie }))
const withPassword = { password: TEST_PASSWORD }
/** Opens a link in a browser; without cookies, the user enters the password. */
const verify = (token: string, cookie = '', input: object = cookie ? {} : withPassword) =>
  auth.handler(post(ENDPOINTS.verifyEmail.path, { token, ...input }, { ...(cookie && { cookie }) }))
const userRow = () =>
  auth.db.selectFrom('user').selectAll().where('id', '=', user.userId).executeTakeFirstOrThrow()
const signIn = (email: string) =>
  auth.handler(post(ENDPOINTS.signInEmail.path, { email, password: TEST_PASSWORD }))
const isRejected = async (token: string, answer = '400 LINK_INVALID') => {
  const before = await dumpTables(auth)
  const response = await verify(token)
  expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
  expect(await statusOf(response)).toBe(answer)
  expect(await dumpTables(auth)).toEqual(before)
}

describe('an address is verified', () => {
  test('by a link that sign-up sends, valid for a day', async () => {
    const email = newEmail()
    const response = await auth.handler(
      post(ENDPOINTS.signUpEmail.path, { name: 'Ada', email, password: 'a rare password' }),
    )
    const { userId } = await response.json()
    const link = await outbox.takeLink('verify-email')
    expect(link).toEqual({
      kind: 'verify-email',
      to: email,
      token: expect.stringMatching(/^[\w-]{43}$/),
      expiresAt: new Date(auth.clock.now().getTime() + 24 * 3_600_000),
      user: { id: userId, name: 'Ada', email },
    })
    expect(await statusOf(verify(link.token, '', { password: 'a rare password' }))).toBe('200')
    const row = auth.db.selectFrom('user').select('emailVerified').where('id', '=', userId)
    expect(await row.executeTakeFirst()).toEqual({ emailVerified: 1 })
  })

  test('by a link that the user requests, and nothing else changes', async () => {
    const response = await call('sendVerificationEmail')
    expect(await response.json()).toEqual({ success: true })
    const { token, to } = await outbox.takeLink('verify-email')
    expect(to).toBe(user.email)
    const before = await userRow()
    auth.clock.advance(1)
    // The password is enough: the user may open it on another device.
    const verified = await verify(token)
    expect(await verified.json()).toEqual({ success: true })
    expect(cookieChanges(verified)).toEqual({ set: [], cleared: [] })
    expect(await userRow()).toEqual({
      ...before,
      emailVerified: 1,
      updatedAt: auth.clock.now().toISOString(),
    })
    expect(await auth.database.sessions.findSession(ada)).not.toBeNull()
  })

  test("and only a link's hash is stored", async () => {
    await call('sendVerificationEmail')
    const { token } = await outbox.takeLink('verify-email')
    expect(JSON.stringify(await dumpTables(auth))).not.toContain(token)
  })
})

describe('a verification link is invalid', () => {
  const receive = async () => {
    await call('sendVerificationEmail')
    return (await outbox.takeLink('verify-email')).token
  }

  test('once it has been used', async () => {
    const token = await receive()
    expect(await statusOf(verify(token))).toBe('200')
    await isRejected(token)
  })

  test('if the address has changed, for any reason', async () => {
    const token = await receive()
    await auth.db.updateTable('user').set({ email: newEmail() }).where('id', '=', user.userId).execute()
    await isRejected(token)
  })

  test('if it was sent to set a password, for which it stays valid', async () => {
    const token = await insertLink(auth, { kind: 'reset-password', ...user })
    await isRejected(token)
    const input = { token, newPassword: 'another rare password' }
    expect(await statusOf(call('resetPassword', input))).toBe('200')
  })
})

describe('an address is changed', () => {
  const ask = (email: string, cookie = ada.cookie) => call('changeEmail', { newEmail: email }, cookie)
  const receive = async (email: string) => {
    await ask(email)
    return (await outbox.takeLink('change-email')).token
  }

  test('by a link to the new one, valid for an hour; nothing changes until it is used', async () => {
    const email = newEmail()
    const before = await userRow()
    const response = await ask(` ${email.toUpperCase()} `)
    expect(await response.json()).toEqual({ success: true })
    expect(await outbox.takeLink('change-email')).toEqual({
      kind: 'change-email',
      to: email,
      token: expect.stringMatching(/^[\w-]{43}$/),
      expiresAt: new Date(auth.clock.now().getTime() + 3_600_000),
      user: { id: user.userId, name: 'Test User', email: user.email },
    })
    expect(await userRow()).toEqual(before)
  })

  test('and is verified from then on, for sign-in too', async () => {
    const email = newEmail()
    expect(await statusOf(verify(await receive(email)))).toBe('200')
    expect(await userRow()).toMatchObject({ email, emailVerified: 1 })
    expect(await statusOf(signIn(user.email))).toBe('401 INVALID_CREDENTIALS')
    expect(await statusOf(signIn(email))).toBe('200')
  })

  test('is recorded with both addresses, and the former one receives a link to undo it', async () => {
    await auth.db.updateTable('user').set({ emailVerified: true }).where('id', '=', user.userId).execute()
    const email = newEmail()
    await verify(await receive(email))
    const by = { actorId: null, address: null }
    expect((await readAudit(auth, user.userId)).slice(-2)).toEqual([
      { ...by, type: 'user.email-changed', sessionId: null, from: user.email, to: email },
      { ...by, type: 'session.revoked', sessionId: ada.sessionId, cause: 'email-changed' },
    ])
    expect(await outbox.takeNotice('email-changed')).toEqual({
      kind: 'email-changed',
      to: user.email,
      token: expect.stringMatching(/^[\w-]{43}$/),
      expiresAt: new Date(auth.clock.now().getTime() + 7 * 24 * 3_600_000),
      user: { id: user.userId, name: 'Test User', email: user.email },
    })
  })

  test.each([
    ['verify-email', ENDPOINTS.verifyEmail.path, {}],
    ['reset-password', ENDPOINTS.resetPassword.path, { newPassword: 'another rare password' }],
  ] as const)('and links of the kind %s that went to the old one are invalid', async (kind, path, input) => {
    const token = await insertLink(auth, { kind, ...user })
    await verify(await receive(newEmail()))
    const before = await dumpTables(auth)
    expect(await statusOf(auth.handler(post(path, { token, ...input })))).toBe('400 LINK_INVALID')
    expect(await dumpTables(auth)).toEqual(before)
  })

  describe('opened with the current session cookie', () => {
    const sessionCall = (cookie: string) => statusOf(auth.handler(get(ENDPOINTS.getSession.path, { cookie })))
    const refresh = (cookie: string) => statusOf(auth.handler(get(ENDPOINTS.token.path, { cookie })))

    test.each([
      ['with its JWT', () => ada.cookie],
      ['without a JWT', () => `service.session=${ada.sessionCookie}`],
    ])('keeps the session, which gets new credentials: %s', async (_name, cookie) => {
      const elsewhere = await auth.signIn(user)
      const { lastAuthenticatedAt } = await auth.db
        .selectFrom('session')
        .select('lastAuthenticatedAt')
        .where('id', '=', ada.sessionId)
        .executeTakeFirstOrThrow()
      const token = await receive(newEmail())
      auth.clock.advance(1)
      const response = await verify(token, cookie())
      expect(response.status).toBe(200)
      expect(cookieChanges(response)).toEqual({ set: ['service.jwt', 'service.session'], cleared: [] })
      expect(await response.json()).toEqual({
        success: true,
        expiresIn: 900,
        expiresAt: expect.any(String),
        userId: user.userId,
        sessionId: ada.sessionId,
      })
      expect(await sessionCall(cookiesAfter(ada.cookie, response))).toBe('200')
      expect(await sessionCall(ada.cookie)).toBe('401 TOKEN_INVALID')
      expect(await refresh(ada.cookie)).toBe('409 SECRET_SUPERSEDED')
      expect(await sessionCall(elsewhere.cookie)).toBe('200')
      expect((await readAudit(auth, user.userId)).at(-1)).toMatchObject({
        type: 'session.version-changed',
        sessionId: ada.sessionId,
        cause: 'email-changed',
        version: 2,
      })
      const row = auth.db.selectFrom('session').selectAll().where('id', '=', ada.sessionId)
      expect(await row.executeTakeFirst()).toMatchObject({ version: 2, lastAuthenticatedAt })
    })

    test('is limited like other changes of credentials, and the link stays valid', async () => {
      const token = await receive(newEmail())
      for (let i = 0; i < 10; i++) {
        const limit = { points: 10, duration: 15 * 60 }
        await auth.database.limits.consume(`version:${ada.sessionId}`, limit)
      }
      expect(await statusOf(verify(token, ada.cookie))).toBe('429 RATE_LIMITED')
      expect(await sessionCall(ada.cookie)).toBe('200')
      expect(await statusOf(verify(token))).toBe('200')
    })

    test("of another user ends all sessions of the link's user, and leaves the other session unchanged", async () => {
      const bob = await auth.signIn()
      const response = await verify(await receive(newEmail()), bob.cookie, withPassword)
      expect(await response.json()).toEqual({ success: true })
      expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
      expect(await sessionCall(ada.cookie)).toBe('401 SESSION_NOT_FOUND')
      expect(await sessionCall(bob.cookie)).toBe('200')
    })
  })

  describe('opened elsewhere, with the password, ends all sessions of the user', () => {
    test.each([
      ['without cookies', () => ''],
      ['with the JWT alone', () => `service.jwt=${ada.token}`],
      ['with a wrong secret', () => `service.session=${ada.sessionId}.${'A'.repeat(91)}`],
      [
        'with a superseded secret',
        async () => {
          const { cookie } = ada
          const response = await call('reauthenticate', { password: TEST_PASSWORD }, cookie)
          ada = { ...ada, cookie: cookiesAfter(cookie, response) }
          return cookie
        },
      ],
    ])('%s', async (_name, given) => {
      const elsewhere = await auth.signIn(user)
      const cookie = await given()
      const response = await verify(await receive(newEmail()), cookie, withPassword)
      expect(await response.json()).toEqual({ success: true })
      expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
      expect(await auth.database.sessions.findSession(ada)).toBeNull()
      expect(await auth.database.sessions.findSession(elsewhere)).toBeNull()
    })

    test('but not if the link only verifies the current address', async () => {
      await call('sendVerificationEmail')
      const { token } = await outbox.takeLink('verify-email')
      const response = await verify(token, ada.cookie)
      expect(await response.json()).toEqual({ success: true })
      expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
      expect(await auth.database.sessions.findSession(ada)).toMatchObject({ version: 1 })
    })
  })

  describe('a link that an intruder may have requested is invalid', () => {
    const elsewhere = () => auth.signIn(user)
    const byAdmin = async (name: 'banUser' | 'revokeUserSession' | 'revokeUserSessions', body: object) => {
      const root = await auth.signIn({ role: 'admin' })
      expect(await statusOf(call(name, body, root.cookie))).toBe('200')
    }

    test.each([
      [
        'once their session has been ended from another one',
        async () => call('revokeOtherSessions', {}, (await elsewhere()).cookie),
      ],
      [
        'once that one session has been ended',
        async () => call('revokeSession', { sessionId: ada.sessionId }, (await elsewhere()).cookie),
      ],
      ['once all sessions have been ended', async () => call('revokeSessions')],
      [
        'once the user has proved who they are',
        async () => call('reauthenticate', { password: TEST_PASSWORD }),
      ],
      ['once the copies of the session have been revoked', async () => call('revokeCopies')],
      [
        'once an admin has ended the session',
        () => byAdmin('revokeUserSession', { sessionId: ada.sessionId }),
      ],
      ['once an admin has ended all sessions', () => byAdmin('revokeUserSessions', { userId: user.userId })],
      ['once the user is banned', () => byAdmin('banUser', { userId: user.userId })],
    ])('%s', async (_name, act) => {
      const token = await receive(newEmail())
      await act()
      await isRejected(token)
    })

    test('and a link is valid if its user signs out, or their session expires', async () => {
      const token = await receive(newEmail())
      await call('signOut')
      expect(await statusOf(verify(token))).toBe('200')
    })
  })

  test("the response doesn't reveal whether another account has the address, byte for byte", async () => {
    const bob = await auth.createUser()
    const [taken, free] = [await ask(bob.email), await ask(newEmail())]
    expect(taken.status).toBe(200)
    expect(await taken.text()).toBe(await free.text())
    expect([...taken.headers]).toEqual([...free.headers])
    // Only the email to the free address.
    await outbox.takeLink('change-email')
    expect(outbox.emails).toEqual([])
  })

  test('to an address that another account has taken meanwhile is 409, and changes nothing', async () => {
    const bob = await auth.createUser()
    const email = newEmail()
    const token = await receive(email)
    await auth.db.updateTable('user').set({ email }).where('id', '=', bob.userId).execute()
    await isRejected(token, '409 EMAIL_TAKEN')
  })

  test('of two users to the same address at the same time succeeds for one', async () => {
    const [email, bob] = [newEmail(), await auth.signIn()]
    const tokens = [await receive(email)]
    await ask(email, bob.cookie)
    tokens.push((await outbox.takeLink('change-email')).token)
    const answers = await Promise.all(tokens.map((token) => statusOf(verify(token))))
    expect(answers.sort()).toEqual(['200', '409 EMAIL_TAKEN'])
  })

  test('to the current address sends nothing', async () => {
    await ask(user.email)
    await call('sendVerificationEmail')
    await outbox.takeLink('verify-email')
    expect(outbox.emails).toEqual([])
  })

  test('requires a recent proof of who the user is', async () => {
    await auth.db
      .updateTable('session')
      .set({ lastAuthenticatedAt: new Date(0) })
      .where('id', '=', ada.sessionId)
      .execute()
    expect(await statusOf(ask(newEmail()))).toBe('403 SESSION_NOT_FRESH')
  })

  test.each([{}, { newEmail: '' }, { newEmail: 'ada' }, { newEmail: 1 }, { newEmail: null }])(
    'to %j is 400',
    async (body) => {
      const response = await call('changeEmail', body)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ code: 'INVALID_INPUT', fields: ['newEmail'] })
    },
  )
})

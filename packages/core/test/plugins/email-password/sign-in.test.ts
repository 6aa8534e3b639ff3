import { hash } from '@node-rs/argon2'
import type { AuthEvent } from '@sallyport/core'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { cookieChanges, post } from '../../support/requests.ts'
import { stored } from '../../support/stored.ts'

const events: AuthEvent[] = []
const limits = { address: { points: 1_000_000, duration: 60 } }
const auth = await createTestAuth({ emailPassword: { limits }, onEvent: (event) => void events.push(event) })
beforeEach(() => {
  events.length = 0
})
afterAll(() => auth.close())

const newEmail = () => `${crypto.randomUUID()}@example.com`
const signIn = (body: unknown, headers?: Record<string, string>, remoteAddress?: string) =>
  auth.handler(post(ENDPOINTS.signInEmail.path, body, headers), { remoteAddress })
const auditOf = async (type: string) =>
  auth.db
    .selectFrom('sallyport.audit')
    .select(['userId', 'sessionId', 'actorId', 'address', 'detail'])
    .where('type', '=', type)
    .execute()
const hashOf = async (userId: string) =>
  (
    await auth.db
      .selectFrom('account')
      .select('password')
      .where('userId', '=', userId)
      .executeTakeFirstOrThrow()
  ).password

describe('sign-in', () => {
  test('accepts the email in any case', async () => {
    const { email, userId } = await auth.createUser()
    const response = await signIn({ email: ` ${email.toUpperCase()} `, password: TEST_PASSWORD })
    expect(await response.json()).toMatchObject({ userId })
  })

  test('responds the same to a wrong password and an unknown email, byte for byte', async () => {
    const { email } = await auth.createUser()
    const before = await stored(auth)
    const wrong = await signIn({ email, password: `${TEST_PASSWORD}.` })
    const unknown = await signIn({ email: newEmail(), password: TEST_PASSWORD })
    const empty = await signIn({ email, password: '' })
    const long = await signIn({ email, password: 'x'.repeat(256) })
    const all = [wrong, unknown, empty, long]
    expect(all.map(({ status }) => status)).toEqual([401, 401, 401, 401])
    expect(new Set(await Promise.all(all.map((response) => response.text())))).toEqual(
      new Set([
        '{"code":"INVALID_CREDENTIALS","message":"Email or password is wrong. Check both and try again."}',
      ]),
    )
    const headers = all.map((response) => JSON.stringify([...response.headers]))
    expect(new Set(headers).size).toBe(1)
    for (const response of all) expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await stored(auth)).toEqual(before)
  })

  test('records one failure, whether the account exists or not', async () => {
    const { email, userId } = await auth.createUser()
    await auth.db.deleteFrom('sallyport.audit').execute()
    events.length = 0
    await signIn({ email, password: 'wrong password' }, {}, '192.0.2.1')
    await signIn({ email: newEmail(), password: 'wrong password' }, {}, '192.0.2.1')
    const failed = { type: 'sign-in.failed', at: auth.clock.now(), reason: 'INVALID_CREDENTIALS' }
    expect(events).toMatchObject([
      { ...failed, userId, address: '192.0.2.1' },
      { ...failed, userId: null, address: '192.0.2.1' },
    ])
    const record = { sessionId: null, actorId: null, address: '192.0.2.1' }
    const detail = '{"reason":"INVALID_CREDENTIALS"}'
    const records = await auditOf('sign-in.failed')
    expect(records).toHaveLength(2)
    expect(records).toEqual(
      expect.arrayContaining([
        { ...record, userId, detail },
        { ...record, userId: null, detail },
      ]),
    )
  })

  test('records neither password nor email', async () => {
    const { email } = await auth.createUser()
    await signIn({ email, password: 'a wrong password' })
    await signIn({ email, password: TEST_PASSWORD })
    const written = JSON.stringify([
      events,
      await auth.db.selectFrom('sallyport.audit').selectAll().execute(),
    ])
    for (const text of [email, 'a wrong password', TEST_PASSWORD]) expect(written).not.toContain(text)
  })

  test.each([
    ['in another case', TEST_PASSWORD.toUpperCase()],
    ['with white space around it', ` ${TEST_PASSWORD} `],
    ['truncated', TEST_PASSWORD.slice(0, -1)],
  ])('rejects a password %s', async (_name, password) => {
    const { email } = await auth.createUser()
    expect((await signIn({ email, password })).status).toBe(401)
  })

  test('of an account without a password is rejected', async () => {
    const { email, userId } = await auth.createUser()
    await auth.db.updateTable('account').set({ password: null }).where('userId', '=', userId).execute()
    for (const password of ['', 'null', TEST_PASSWORD]) {
      expect((await signIn({ email, password })).status).toBe(401)
    }
  })

  test('of an account of another provider is rejected', async () => {
    const { email, userId } = await auth.createUser()
    await auth.db.updateTable('account').set({ providerId: 'github' }).where('userId', '=', userId).execute()
    expect((await signIn({ email, password: TEST_PASSWORD })).status).toBe(401)
  })

  test("leaves the user's sessions in other browsers in place", async () => {
    const { email, userId } = await auth.createUser()
    const elsewhere = await auth.signIn({ userId })
    await signIn({ email, password: TEST_PASSWORD })
    expect(await auth.database.sessions.findSession(elsewhere)).not.toBeNull()
  })

  test('leaves the session of the same browser in place if it fails', async () => {
    const { email, userId } = await auth.createUser()
    const here = await auth.signIn({ userId })
    expect((await signIn({ email, password: 'wrong password' }, { cookie: here.cookie })).status).toBe(401)
    expect(await auth.database.sessions.findSession(here)).not.toBeNull()
  })

  test('rehashes a password only if its hash has other parameters', async () => {
    const { email, userId } = await auth.createUser()
    const outdated = await hash(TEST_PASSWORD, { memoryCost: 8_192, timeCost: 1, parallelism: 1 })
    await auth.db.updateTable('account').set({ password: outdated }).where('userId', '=', userId).execute()
    expect((await signIn({ email, password: 'wrong password' })).status).toBe(401)
    expect(await hashOf(userId)).toBe(outdated)
    for (let i = 0; i < 2; i++) {
      expect((await signIn({ email, password: TEST_PASSWORD })).status).toBe(200)
    }
    const renewed = await hashOf(userId)
    expect(renewed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect((await signIn({ email, password: TEST_PASSWORD })).status).toBe(200)
    expect(await hashOf(userId)).toBe(renewed)
  })

  describe('of a banned user', () => {
    test('is 403 "Account banned", creates no session, and is recorded', async () => {
      const { email, userId } = await auth.createUser()
      const session = await auth.signIn({ userId })
      await auth.ban(session)
      const before = await stored(auth)
      events.length = 0
      const response = await signIn({ email, password: TEST_PASSWORD })
      expect(response.status).toBe(403)
      expect(await response.json()).toEqual({ code: 'ACCOUNT_BANNED', message: 'Account banned' })
      expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
      expect(await stored(auth)).toEqual(before)
      expect(events).toMatchObject([{ type: 'sign-in.failed', userId, reason: 'ACCOUNT_BANNED' }])
    })

    test("doesn't reveal the ban with a wrong password", async () => {
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

test('a sign-in is 409 and sets no cookies if the user has the maximum number of sessions', async () => {
  const full = await createTestAuth({ session: { maxSessionsPerUser: 1, whenFull: 'reject' } })
  const { email, userId } = await full.createUser()
  const elsewhere = await full.signIn({ userId })
  const response = await full.handler(post(ENDPOINTS.signInEmail.path, { email, password: TEST_PASSWORD }))
  expect(response.status).toBe(409)
  expect((await response.json()).code).toBe('TOO_MANY_SESSIONS')
  expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
  expect(await full.database.sessions.findSession(elsewhere)).not.toBeNull()
  await full.close()
})

import { authenticate } from '@sallyport/core'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { dumpTables } from '../../support/dump-tables.ts'
import { incoming } from '../../support/incoming.ts'
import { readAudit } from '../../support/read-audit.ts'
import { reasonOf } from '../../support/reason-of.ts'
import { cookieChanges, get, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import { subscribeToSession } from '../../support/subscribe-to-session.ts'
import type { MadeUser } from '../../support/user-maker.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())
afterEach(() => auth.db.deleteFrom('user').execute())

let root: TestSession
let user: MadeUser
let ada: TestSession
beforeEach(async () => {
  root = await auth.signIn({ role: 'admin' })
  user = await auth.createUser()
  ada = await auth.signIn(user)
})

const ban = (body: unknown, cookie = root.cookie) =>
  auth.handler(post(ENDPOINTS.banUser.path, body, { cookie }))
const unban = (body: unknown = { userId: user.userId }, cookie = root.cookie) =>
  auth.handler(post(ENDPOINTS.unbanUser.path, body, { cookie }))
const nextCall = () =>
  reasonOf(
    authenticate(incoming({ cookie: ada.cookie }), 'query', {
      config: auth.config,
      sessions: auth.database.sessions,
    }),
  )
const userRow = (userId: string) =>
  auth.db.selectFrom('user').selectAll().where('id', '=', userId).executeTakeFirstOrThrow()
const banOf = async (userId: string) => {
  const { banned, banReason, banExpires } = await userRow(userId)
  return { banned, banReason, banExpires }
}
const NOT_BANNED = { banned: 0, banReason: null, banExpires: null }

describe('a ban', () => {
  test('leaves the sessions in place, and the next call is 403 "Account banned"', async () => {
    const response = await ban({ userId: user.userId })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ success: true })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(
      await auth.db.selectFrom('session').select('id').where('userId', '=', user.userId).execute(),
    ).toEqual([{ id: ada.sessionId }])
    const rejected = await auth.handler(get(ENDPOINTS.getSession.path, { cookie: ada.cookie }))
    expect(rejected.status).toBe(403)
    expect(await rejected.json()).toEqual({ code: 'ACCOUNT_BANNED', message: 'Account banned' })
    expect(cookieChanges(rejected)).toEqual({ set: [], cleared: [] })
  })

  test('prevents a new JWT and a new session', async () => {
    await ban({ userId: user.userId })
    expect(await statusOf(auth.handler(get(ENDPOINTS.token.path, { cookie: ada.cookie })))).toBe(
      '403 ACCOUNT_BANNED',
    )
    const credentials = { email: user.email, password: TEST_PASSWORD }
    expect(await statusOf(auth.handler(post(ENDPOINTS.signInEmail.path, credentials)))).toBe(
      '403 ACCOUNT_BANNED',
    )
  })

  test('ends the live streams of all sessions of that user, and no others', async () => {
    const [elsewhere, bob] = [await auth.signIn(user), await auth.signIn()]
    const [here, there, others, admins] = [ada, elsewhere, bob, root].map((session) =>
      subscribeToSession(auth, session),
    )
    await ban({ userId: user.userId })
    expect(here).toHaveBeenCalledOnce()
    expect(there).toHaveBeenCalledOnce()
    expect(others).not.toHaveBeenCalled()
    expect(admins).not.toHaveBeenCalled()
  })

  test('stores its reason in the records, and shows it only to admins', async () => {
    await ban({ userId: user.userId, reason: '  spam ' })
    expect(await banOf(user.userId)).toMatchObject({ banReason: 'spam' })
    const rejected = await auth.handler(get(ENDPOINTS.getSession.path, { cookie: ada.cookie }))
    expect(await rejected.text()).not.toContain('spam')
    expect((await readAudit(auth, user.userId)).at(-1)).toEqual({
      type: 'user.banned',
      sessionId: null,
      actorId: root.userId,
      address: null,
      reason: 'spam',
      expiresAt: null,
      from: null,
    })
  })

  test('is permanent without expiresIn', async () => {
    await ban({ userId: user.userId })
    expect(await banOf(user.userId)).toEqual({ banned: 1, banReason: null, banExpires: null })
    auth.clock.advance(29 * 24 * 3_600)
    expect(await statusOf(auth.handler(get(ENDPOINTS.token.path, { cookie: ada.cookie })))).toBe(
      '403 ACCOUNT_BANNED',
    )
    auth.clock.advance(-29 * 24 * 3_600)
  })

  test('with expiresIn ends automatically, to the second, and the session continues', async () => {
    await ban({ userId: user.userId, expiresIn: 60 })
    const banExpires = new Date(auth.clock.now().getTime() + 60_000).toISOString()
    expect(await banOf(user.userId)).toMatchObject({ banExpires })
    auth.clock.advance(59.999)
    expect(await nextCall()).toBe('ACCOUNT_BANNED')
    auth.clock.advance(0.001)
    expect(await nextCall()).toBe('accepted')
    expect(await statusOf(auth.handler(get(ENDPOINTS.token.path, { cookie: ada.cookie })))).toBe('200')
  })

  test('whose end was set by hand without a zone ends at that time in UTC, also for sign-ins', async () => {
    vi.stubEnv('TZ', 'Asia/Tokyo')
    onTestFinished(() => void vi.unstubAllEnvs())
    const end = new Date(auth.clock.now().getTime() + 60 * 60 * 1000).toISOString().slice(0, 19)
    const changed = auth.db.updateTable('user').set({ banned: true, banExpires: sql`${end}` })
    await changed.where('id', '=', user.userId).execute()
    expect(await nextCall()).toBe('ACCOUNT_BANNED')
    const input = { email: user.email, password: TEST_PASSWORD }
    expect(await statusOf(auth.handler(post(ENDPOINTS.signInEmail.path, input)))).toBe('403 ACCOUNT_BANNED')
    const { users } = await (
      await auth.handler(get(ENDPOINTS.listUsers.path, { cookie: root.cookie }))
    ).json()
    expect(users).toContainEqual(expect.objectContaining({ id: user.userId, banExpires: `${end}.000Z` }))
  })

  test('replaces the previous ban', async () => {
    await ban({ userId: user.userId, reason: 'spam', expiresIn: 60 })
    await ban({ userId: user.userId })
    expect(await banOf(user.userId)).toEqual({ banned: 1, banReason: null, banExpires: null })
  })

  test('also works on another admin, who can do nothing from then on', async () => {
    const other = await auth.signIn({ role: 'admin' })
    await ban({ userId: other.userId })
    expect(await statusOf(unban({ userId: other.userId }, other.cookie))).toBe('403 ACCOUNT_BANNED')
    expect(await statusOf(ban({ userId: root.userId }, other.cookie))).toBe('403 ACCOUNT_BANNED')
    expect(await banOf(root.userId)).toEqual(NOT_BANNED)
  })

  test.each([
    ['an anonymous caller', '401 TOKEN_MISSING', async () => ''],
    ['another user', '403 ROLE_REQUIRED', async () => (await auth.signIn()).cookie],
    ['the user', '403 ROLE_REQUIRED', async () => ada.cookie],
  ])('by %s is %s', async (_name, answer, cookie) => {
    const before = await cookie().then(async (cookie) => ({ cookie, dump: await dumpTables(auth) }))
    expect(await statusOf(ban({ userId: user.userId }, before.cookie))).toBe(answer)
    expect(await dumpTables(auth)).toEqual(before.dump)
  })

  test.each<[unknown, string]>([
    [{}, 'userId'],
    [{ userId: '' }, 'userId'],
    [{ userId: 'x'.repeat(129) }, 'userId'],
    [{ userId: 1 }, 'userId'],
    [{ userId: 'x', reason: '' }, 'reason'],
    [{ userId: 'x', reason: ' ' }, 'reason'],
    [{ userId: 'x', reason: 'x'.repeat(501) }, 'reason'],
    [{ userId: 'x', reason: 'NUL: \0' }, 'reason'],
    [{ userId: 'x', reason: null }, 'reason'],
    [{ userId: 'x', expiresIn: 0 }, 'expiresIn'],
    [{ userId: 'x', expiresIn: -1 }, 'expiresIn'],
    [{ userId: 'x', expiresIn: 1.5 }, 'expiresIn'],
    [{ userId: 'x', expiresIn: '60' }, 'expiresIn'],
    [{ userId: 'x', expiresIn: 1e300 }, 'expiresIn'],
    [{ userId: 'x', expiresIn: 100 * 365 * 24 * 3_600 + 1 }, 'expiresIn'],
    [{ userId: 'x', banned: false }, 'banned'],
    [{ userId: 'x', expiresAt: '2100-01-01' }, 'expiresAt'],
  ])('%j is 400', async (body, field) => {
    const before = await dumpTables(auth)
    const response = await ban(body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'INVALID_INPUT', fields: [field] })
    expect(await dumpTables(auth)).toEqual(before)
  })

  test('may last up to a hundred years', async () => {
    expect((await ban({ userId: user.userId, expiresIn: 100 * 365 * 24 * 3_600 })).status).toBe(200)
    expect(await nextCall()).toBe('ACCOUNT_BANNED')
  })

  test('of a missing user is 404, and leaves no record', async () => {
    const before = await dumpTables(auth)
    expect(await statusOf(ban({ userId: crypto.randomUUID() }))).toBe('404 USER_NOT_FOUND')
    expect(await dumpTables(auth)).toEqual(before)
  })
})

describe('no admin can ban themselves', () => {
  test.each([
    ['the last one', async () => {}],
    ['one of two', async () => void (await auth.createUser({ role: 'admin' }))],
  ])('%s', async (_name, given) => {
    await given()
    const before = await dumpTables(auth)
    expect(await statusOf(ban({ userId: root.userId, reason: 'x', expiresIn: 60 }))).toBe('409 OWN_ACCOUNT')
    expect(await dumpTables(auth)).toEqual(before)
  })

  test('one remains if two ban each other at the same time', async () => {
    const other = await auth.signIn({ role: 'admin' })
    const answers = await Promise.all([
      statusOf(ban({ userId: other.userId }, root.cookie)),
      statusOf(ban({ userId: root.userId }, other.cookie)),
    ])
    expect(answers.sort()).toEqual(['200', '403 ACCOUNT_BANNED'])
    const banned = [await banOf(root.userId), await banOf(other.userId)].map((row) => row.banned)
    expect(banned.sort()).toEqual([0, 1])
  })
})

describe('lifting a ban', () => {
  test('restores the existing sessions, and is recorded', async () => {
    await ban({ userId: user.userId, reason: 'spam', expiresIn: 60 })
    expect(await nextCall()).toBe('ACCOUNT_BANNED')
    const response = await unban()
    expect(await response.json()).toEqual({ success: true })
    expect(await nextCall()).toBe('accepted')
    expect(await banOf(user.userId)).toEqual(NOT_BANNED)
    expect((await readAudit(auth, user.userId)).at(-1)).toEqual({
      type: 'user.unbanned',
      sessionId: null,
      actorId: root.userId,
      address: null,
      from: { reason: 'spam', expiresAt: expect.any(String) },
    })
  })

  test('works if its end was changed by hand to a date that cannot be read, which never comes', async () => {
    const change = () =>
      auth.db
        .updateTable('user')
        .set({ banned: true, banExpires: sql`'soon'`, createdAt: sql`'long ago'` })
        .where('id', '=', user.userId)
        .execute()
    await change()
    const listed = await auth.handler(get(ENDPOINTS.listUsers.path, { cookie: root.cookie }))
    const { users } = await listed.json()
    expect(users).toContainEqual(
      expect.objectContaining({ id: user.userId, banExpires: null, createdAt: '' }),
    )
    expect(await statusOf(unban())).toBe('200')
    await change()
    expect(await statusOf(ban({ userId: user.userId }))).toBe('200')
  })

  test.each([
    ['of a user without a ban', async () => user.userId],
    ['of a missing user', async () => crypto.randomUUID()],
  ])('%s changes nothing and leaves no record', async (_name, userId) => {
    const before = await dumpTables(auth)
    expect(await statusOf(unban({ userId: await userId() }))).toBe('200')
    expect(await dumpTables(auth)).toEqual(before)
  })

  test.each([
    ['the user', '403 ACCOUNT_BANNED', () => ada.cookie],
    ['an anonymous caller', '401 TOKEN_MISSING', () => ''],
  ])('by %s is %s', async (_name, answer, cookie) => {
    await ban({ userId: user.userId })
    expect(await statusOf(unban(undefined, cookie()))).toBe(answer)
    expect(await nextCall()).toBe('ACCOUNT_BANNED')
  })

  test('ends no streams', async () => {
    await ban({ userId: user.userId })
    const listener = subscribeToSession(auth, ada)
    await unban()
    expect(listener).not.toHaveBeenCalled()
  })
})

import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { dumpTables } from '../support/dump-tables.ts'
import { readAudit } from '../support/read-audit.ts'
import { cookieChanges, cookiesAfter, get, post } from '../support/requests.ts'
import { statusOf } from '../support/status-of.ts'
import { copySession } from '../support/stored-sessions.ts'
import { subscribeToSession } from '../support/subscribe-to-session.ts'
import type { MadeUser } from '../support/user-maker.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())

const FIREFOX_ON_MACOS =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0'

let user: MadeUser
let ada: TestSession
let elsewhere: TestSession
let bob: TestSession
beforeEach(async () => {
  user = await auth.createUser()
  ada = await auth.signIn(user)
  elsewhere = await auth.signIn(user)
  bob = await auth.signIn()
})

const list = async (cookie = ada.cookie): Promise<{ id: string }[]> =>
  (await (await auth.handler(get(ENDPOINTS.listSessions.path, { cookie }))).json()).sessions
const call = (name: keyof typeof ENDPOINTS, body?: unknown, cookie = ada.cookie) =>
  auth.handler(post(ENDPOINTS[name].path, body, { cookie }))
const isThere = async ({ sessionId, userId }: TestSession) =>
  (await auth.database.sessions.findSession({ sessionId, userId })) !== null
const nextCall = ({ cookie }: TestSession) =>
  statusOf(auth.handler(get(ENDPOINTS.getSession.path, { cookie })))
const BY_USER = { type: 'session.revoked', cause: 'revoked', actorId: null, address: null }

describe('GET /sessions', () => {
  test("lists the caller's sessions, newest first, and marks the current one", async () => {
    auth.clock.advance(60)
    const latest = await auth.signIn(user)
    const sessions = await list(ada.cookie)
    expect(sessions).toHaveLength(3)
    expect(sessions[0]).toMatchObject({ id: latest.sessionId, current: false })
    expect(sessions).toContainEqual(expect.objectContaining({ id: ada.sessionId, current: true }))
    expect(sessions).toContainEqual(expect.objectContaining({ id: elsewhere.sessionId, current: false }))
    expect(await list(latest.cookie)).toContainEqual(
      expect.objectContaining({ id: latest.sessionId, current: true }),
    )
  })

  test('lists the newest 1,000, and lets other requests run meanwhile', async () => {
    await copySession(auth, elsewhere.sessionId, 1_000)
    let turns = 0
    const timer = setInterval(() => turns++, 0)
    const sessions = await list()
    clearInterval(timer)
    expect(sessions).toHaveLength(1_000)
    expect(sessions.at(-1)?.id).toBe('copy-0003')
    expect(turns).toBeGreaterThan(5)
  })

  test('lists a session that is older than 1,000 that have just expired', async () => {
    const own = await createTestAuth()
    onTestFinished(() => own.close())
    const { sessionId, cookie } = await own.signIn()
    await copySession(own, sessionId, 1_000)
    const [createdAt, expiresAt] = [own.clock.now(), new Date(own.clock.now().getTime() - 1_000)]
    const copies = own.db.updateTable('session').where('id', '!=', sessionId)
    await copies.set({ createdAt, expiresAt }).execute()
    own.clock.advance(60)
    const response = await own.handler(get(ENDPOINTS.listSessions.path, { cookie }))
    expect(await response.json()).toMatchObject({ sessions: [{ id: sessionId }] })
  })

  test("leaves out a session whose expiry can't be read, which is expired", async () => {
    const changed = auth.db.updateTable('session').set({ expiresAt: sql`'soon'` })
    await changed.where('id', '=', elsewhere.sessionId).execute()
    expect(await nextCall(elsewhere)).toBe('401 SESSION_EXPIRED')
    expect(await list()).toMatchObject([{ id: ada.sessionId }])
  })

  test("reads dates as Step 2 does: without a zone they are in UTC, and one that can't be read is empty", async () => {
    vi.stubEnv('TZ', 'Asia/Tokyo')
    onTestFinished(() => void vi.unstubAllEnvs())
    const moment = new Date(auth.clock.now().getTime() + 60 * 1000).toISOString().slice(0, 19)
    // As text, the one with a space comes before the present.
    for (const expiresAt of [moment, moment.replace('T', ' ')]) {
      const changed = auth.db
        .updateTable('session')
        .set({ expiresAt: sql`${expiresAt}`, createdAt: sql`'long ago'` })
      await changed.where('id', '=', elsewhere.sessionId).execute()
      expect(await nextCall(elsewhere)).toBe('200')
      const listed = { id: elsewhere.sessionId, expiresAt: `${moment}.000Z`, createdAt: '' }
      expect(await list()).toContainEqual(expect.objectContaining(listed))
    }
  })

  test('returns only these members of each session, and never a token', async () => {
    const request = post(
      ENDPOINTS.signInEmail.path,
      { email: user.email, password: TEST_PASSWORD },
      { 'user-agent': FIREFOX_ON_MACOS },
    )
    const signedIn = await auth.handler(request, { remoteAddress: '2001:db8::7' })
    const { sessionId } = await signedIn.json()
    const cookie = cookiesAfter('', signedIn)
    const now = auth.clock.now()
    const response = await auth.handler(get(ENDPOINTS.listSessions.path, { cookie }))
    const text = await response.text()
    expect(JSON.parse(text).sessions).toContainEqual({
      id: sessionId,
      createdAt: now.toISOString(),
      lastSeenAt: now.toISOString(),
      lastAuthenticatedAt: now.toISOString(),
      expiresAt: new Date(now.getTime() + 30 * 24 * 3_600_000).toISOString(),
      amr: ['pwd'],
      address: '2001:db8::7',
      device: 'Firefox on macOS',
      current: true,
    })
    const rows = await auth.db.selectFrom('session').select('token').execute()
    const secrets = [ada, elsewhere].map(({ sessionCookie }) => sessionCookie.split('.')[1])
    for (const secret of [...secrets, ...rows.map(({ token }) => token), 'sha256'])
      expect(text).not.toContain(secret)
  })

  test.each([
    ['curl/8.5.0', 'curl'],
    ['/1.0', null],
    [' ', null],
  ])('describes the user agent "%s" as %s', async (userAgent, device) => {
    const update = auth.db.updateTable('session').set({ userAgent }).where('id', '=', ada.sessionId)
    await update.execute()
    expect(await list()).toContainEqual(expect.objectContaining({ id: ada.sessionId, device }))
  })

  test('omits expired sessions and those of other users', async () => {
    await auth.expireSession(elsewhere)
    expect((await list()).map(({ id }) => id)).toEqual([ada.sessionId])
  })

  test('returns when the last refresh was, and when the password was last entered', async () => {
    const before = auth.clock.now().toISOString()
    auth.clock.advance(120)
    await auth.handler(get(ENDPOINTS.token.path, { cookie: ada.cookie }))
    auth.clock.advance(120)
    const now = auth.clock.now().toISOString()
    await call('reauthenticate', { password: TEST_PASSWORD }, elsewhere.cookie)
    const sessions = await list()
    expect(sessions).toContainEqual(
      expect.objectContaining({
        id: ada.sessionId,
        createdAt: before,
        lastSeenAt: new Date(auth.clock.now().getTime() - 120_000).toISOString(),
        lastAuthenticatedAt: before,
      }),
    )
    expect(sessions).toContainEqual(
      expect.objectContaining({ id: elsewhere.sessionId, lastSeenAt: before, lastAuthenticatedAt: now }),
    )
  })
})

describe('POST /revoke-session', () => {
  test('ends the given session: its next call is 401, and its streams end', async () => {
    const [here, there] = [subscribeToSession(auth, ada), subscribeToSession(auth, elsewhere)]
    const response = await call('revokeSession', { sessionId: elsewhere.sessionId })
    expect(await response.json()).toEqual({ revoked: true })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await nextCall(elsewhere)).toBe('401 SESSION_NOT_FOUND')
    expect(await nextCall(ada)).toBe('200')
    expect(there).toHaveBeenCalledOnce()
    expect(here).not.toHaveBeenCalled()
    expect((await readAudit(auth, user.userId)).at(-1)).toEqual({
      ...BY_USER,
      sessionId: elsewhere.sessionId,
    })
  })

  test('may end the current session', async () => {
    expect(await (await call('revokeSession', { sessionId: ada.sessionId })).json()).toEqual({
      revoked: true,
    })
    expect(await nextCall(ada)).toBe('401 SESSION_NOT_FOUND')
  })

  test.each([
    ['of another user', () => bob.sessionId],
    ['that never existed', () => crypto.randomUUID()],
    ['with SQL in its id', () => "' or 1=1 --"],
  ])('responds the same way for a session %s, and changes nothing', async (_name, sessionId) => {
    const listener = subscribeToSession(auth, bob)
    const before = await dumpTables(auth)
    const response = await call('revokeSession', { sessionId: sessionId() })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ revoked: false })
    expect(await dumpTables(auth)).toEqual(before)
    expect(listener).not.toHaveBeenCalled()
  })
})

describe('POST /revoke-other-sessions', () => {
  test('ends all sessions of the caller except the current one', async () => {
    const third = await auth.signIn(user)
    const [here, there, others] = [ada, elsewhere, bob].map((session) => subscribeToSession(auth, session))
    const response = await call('revokeOtherSessions')
    expect(await response.json()).toEqual({ revoked: 2 })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    for (const session of [elsewhere, third]) expect(await nextCall(session)).toBe('401 SESSION_NOT_FOUND')
    for (const session of [ada, bob]) expect(await nextCall(session)).toBe('200')
    expect(there).toHaveBeenCalledOnce()
    expect(here).not.toHaveBeenCalled()
    expect(others).not.toHaveBeenCalled()
    const records = await readAudit(auth, user.userId)
    expect(records.slice(-2)).toEqual(
      expect.arrayContaining([elsewhere, third].map(({ sessionId }) => ({ ...BY_USER, sessionId }))),
    )
  })

  test('has no effect the second time', async () => {
    await call('revokeOtherSessions')
    const before = await dumpTables(auth)
    expect(await (await call('revokeOtherSessions')).json()).toEqual({ revoked: 0 })
    expect(await dumpTables(auth)).toEqual(before)
  })
})

describe('POST /revoke-sessions', () => {
  test("ends all sessions of the caller and deletes the browser's cookies, except the known-device cookie", async () => {
    const [here, there, others] = [ada, elsewhere, bob].map((session) => subscribeToSession(auth, session))
    const response = await call('revokeSessions', {}, `${ada.cookie}; service.device=x`)
    expect(await response.json()).toEqual({ revoked: 2 })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: ['service.jwt', 'service.session'] })
    for (const session of [ada, elsewhere]) {
      expect(await isThere(session)).toBe(false)
      expect(await nextCall(session)).toBe('401 SESSION_NOT_FOUND')
    }
    expect(await isThere(bob)).toBe(true)
    expect(here).toHaveBeenCalledOnce()
    expect(there).toHaveBeenCalledOnce()
    expect(others).not.toHaveBeenCalled()
    expect((await readAudit(auth, user.userId)).slice(-2)).toEqual(
      expect.arrayContaining([ada, elsewhere].map(({ sessionId }) => ({ ...BY_USER, sessionId }))),
    )
  })
})

test('one session is left if two browsers end each other at the same time', async () => {
  const answers = await Promise.all([
    call('revokeOtherSessions', {}, ada.cookie),
    call('revokeOtherSessions', {}, elsewhere.cookie),
  ])
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 401])
  expect([await isThere(ada), await isThere(elsewhere)].sort()).toEqual([false, true])
})

describe('POST /revoke-copies', () => {
  const LAST_SIGN_IN = 15 * 60_000 + 1
  const refresh = (cookie: string) => statusOf(auth.handler(get(ENDPOINTS.token.path, { cookie })))

  test('gives the caller new credentials, and every copy of the old ones stops working', async () => {
    const listener = subscribeToSession(auth, ada)
    const response = await call('revokeCopies', {})
    expect(response.status).toBe(200)
    expect(cookieChanges(response)).toEqual({ set: ['service.jwt', 'service.session'], cleared: [] })
    expect(await response.json()).toEqual({
      expiresIn: 900,
      expiresAt: expect.any(String),
      userId: ada.userId,
      sessionId: ada.sessionId,
    })
    const cookie = cookiesAfter(ada.cookie, response)
    expect(await nextCall({ ...ada, cookie })).toBe('200')
    expect(await refresh(cookie)).toBe('200')
    expect(await nextCall(ada)).toBe('401 TOKEN_INVALID')
    expect(await statusOf(call('revokeCopies', {}))).toBe('401 TOKEN_INVALID')
    expect(await refresh(ada.cookie)).toBe('409 SECRET_SUPERSEDED')
    expect(listener).toHaveBeenCalledOnce()
  })

  test('leaves all other sessions unchanged', async () => {
    await call('revokeCopies', {})
    expect([await nextCall(elsewhere), await nextCall(bob)]).toEqual(['200', '200'])
    expect(await refresh(elsewhere.cookie)).toBe('200')
  })

  test("doesn't make the session fresher", async () => {
    const row = () =>
      auth.db.selectFrom('session').selectAll().where('id', '=', ada.sessionId).executeTakeFirstOrThrow()
    const { lastAuthenticatedAt } = await row()
    auth.clock.advance(60)
    await call('revokeCopies', {})
    expect(await row()).toMatchObject({ lastAuthenticatedAt, version: 2, provedVersion: 2 })
  })

  test('is recorded', async () => {
    await call('revokeCopies', {})
    expect((await readAudit(auth, user.userId)).at(-1)).toEqual({
      type: 'session.version-changed',
      sessionId: ada.sessionId,
      actorId: null,
      address: null,
      cause: 'copies-revoked',
      version: 2,
    })
  })

  test('needs a fresh session', async () => {
    const lastAuthenticatedAt = new Date(auth.clock.now().getTime() - LAST_SIGN_IN)
    await auth.db
      .updateTable('session')
      .set({ lastAuthenticatedAt })
      .where('id', '=', ada.sessionId)
      .execute()
    const before = await dumpTables(auth)
    expect(await statusOf(call('revokeCopies', {}))).toBe('403 SESSION_NOT_FRESH')
    expect(await dumpTables(auth)).toEqual(before)
  })

  test.each([
    ['no session cookie', () => `service.jwt=${ada.token}`],
    ['a wrong secret', () => `service.jwt=${ada.token}; service.session=${ada.sessionId}.${'A'.repeat(91)}`],
  ])('needs the secret: with a JWT and %s it changes and counts nothing', async (_name, cookie) => {
    const before = await dumpTables(auth)
    for (let i = 0; i < 11; i++) {
      const response = await call('revokeCopies', {}, cookie())
      expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
      expect(await statusOf(response)).toBe('400 SESSION_SECRET_REQUIRED')
    }
    expect(await dumpTables(auth)).toEqual(before)
    expect(await statusOf(call('revokeCopies', {}))).toBe('200')
  })

  test('is RATE_LIMITED at the eleventh call within 15 minutes, and the credentials stay', async () => {
    let { cookie } = ada
    for (let i = 0; i < 10; i++) {
      const response = await call('revokeCopies', {}, cookie)
      expect(response.status).toBe(200)
      cookie = cookiesAfter(cookie, response)
    }
    const rejected = await call('revokeCopies', {}, cookie)
    expect(cookieChanges(rejected)).toEqual({ set: [], cleared: [] })
    expect(await statusOf(rejected)).toBe('429 RATE_LIMITED')
    expect(await nextCall({ ...ada, cookie })).toBe('200')
    expect(await statusOf(call('revokeCopies', {}, elsewhere.cookie))).toBe('200')
  })
})

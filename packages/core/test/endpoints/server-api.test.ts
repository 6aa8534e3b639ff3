import { verifyJwt } from '@sallyport/core'
import { ENDPOINTS, NO_SESSION, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { answerOf } from '../support/answer-of.ts'
import { codeOf } from '../support/code-of.ts'
import { dumpTables } from '../support/dump-tables.ts'
import { hearRevocations } from '../support/hear-revocations.ts'
import { readAudit } from '../support/read-audit.ts'
import { cookiesAfter, get, post } from '../support/requests.ts'
import { createUserMaker, type MadeUser } from '../support/user-maker.ts'

const auth = await createTestAuth()
const makeUser = await createUserMaker(auth)
afterAll(() => auth.close())

let user: MadeUser
beforeEach(async () => {
  user = await makeUser()
})

/** The browser comes back from the site that knows who it is. */
const callback = (headers: Record<string, string> = {}) =>
  new Request('http://localhost:3000/callback?code=x', {
    headers: {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
      'user-agent': 'curl/8.7.1',
      ...headers,
    },
  })
const browserAfter = (headers: Headers, cookie = '') => cookiesAfter(cookie, new Response(null, { headers }))
const listOf = async (cookie: string, on: Pick<TestAuth, 'handler'> = auth) =>
  (await (await on.handler(get(ENDPOINTS.listSessions.path, { cookie }))).json()).sessions

describe('createSession', () => {
  test('begins a session of the user, whose browser is let in at once', async () => {
    const { headers, ...body } = await auth.api.createSession({
      userId: user.userId,
      request: callback(),
      remoteAddress: '192.0.2.7',
    })
    expect(body).toEqual({
      expiresIn: 900,
      expiresAt: expect.any(String),
      userId: user.userId,
      sessionId: expect.any(String),
    })
    const cookie = browserAfter(headers)
    expect(await listOf(cookie)).toMatchObject([
      { id: body.sessionId, address: '192.0.2.7', device: 'curl', current: true },
    ])
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^service\.jwt=[\w-]+\.[\w-]+\.[\w-]+; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax$/,
      ),
      expect.stringMatching(
        /^service\.session=[0-9a-f-]{36}\.[\w-]{91}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/,
      ),
    ])
    expect((await readAudit(auth, user.userId)).at(-1)).toEqual({
      type: 'session.created',
      knownDevice: null,
      sessionId: body.sessionId,
      actorId: null,
      address: '192.0.2.7',
      userAgent: 'curl/8.7.1',
    })
  })

  test('ends the session that the browser had, and no other', async () => {
    const [before, elsewhere] = [await auth.signIn(await makeUser()), await auth.signIn(user)]
    const heard = hearRevocations(auth, before)
    const request = callback({ cookie: before.cookie })
    const { headers, sessionId } = await auth.api.createSession({ userId: user.userId, request })
    expect(await auth.database.sessions.findSession(before)).toBeNull()
    expect(await auth.database.sessions.findSession(elsewhere)).not.toBeNull()
    expect(heard).toHaveBeenCalledOnce()
    expect((await readAudit(auth, before.userId)).at(-1)).toMatchObject({
      type: 'session.revoked',
      cause: 'replaced',
      sessionId: before.sessionId,
    })
    expect(await listOf(browserAfter(headers, before.cookie))).toContainEqual(
      expect.objectContaining({ id: sessionId, current: true }),
    )
  })

  test('ends no session whose secret the browser does not have', async () => {
    const other = await auth.signIn()
    const request = callback({ cookie: `service.session=${other.sessionId}.${'A'.repeat(43)}` })
    await auth.api.createSession({ userId: user.userId, request })
    expect(await auth.database.sessions.findSession(other)).not.toBeNull()
  })

  test.each([
    ['undefined', undefined, '; Max-Age=2592000;', 30 * 24 * 3_600],
    ['true', true, '; Max-Age=2592000;', 30 * 24 * 3_600],
    ['false', false, '; Path=/', 24 * 3_600],
  ])('rememberMe %s', async (_name, rememberMe, attribute, seconds) => {
    const { headers, sessionId } = await auth.api.createSession({
      userId: user.userId,
      request: callback(),
      ...(rememberMe !== undefined && { rememberMe }),
    })
    const [jwt = '', session = ''] = headers.getSetCookie()
    expect(session).toContain(attribute)
    expect([jwt, session].map((cookie) => cookie.includes('Max-Age'))).toEqual(
      rememberMe === false ? [false, false] : [true, true],
    )
    const sessions = await listOf(browserAfter(headers))
    const expiresAt = new Date(auth.clock.now().getTime() + seconds * 1000).toISOString()
    expect(sessions).toMatchObject([{ id: sessionId, expiresAt }])
  })

  test('returns the tokens themselves to a program, where bearer transport is enabled', async () => {
    const withBearer = await createTestAuth({ bearer: true })
    const { userId } = await withBearer.createUser()
    expect(await withBearer.api.createSession({ userId, request: callback() })).not.toHaveProperty('token')
    const request = callback({ [SESSION_HEADER]: NO_SESSION })
    const { token = '', sessionToken, sessionId } = await withBearer.api.createSession({ userId, request })
    expect(sessionToken).toMatch(sessionId)
    expect(await verifyJwt(token, withBearer.config)).toMatchObject({ userId, sessionId })
    await withBearer.close()
  })

  describe('begins none, and changes nothing', () => {
    test.each([
      ['for a user there is not', 'USER_NOT_FOUND', async () => ({ userId: crypto.randomUUID() })],
      [
        'for a banned one',
        'ACCOUNT_BANNED',
        async () => {
          await auth.db.updateTable('user').set({ banned: true }).where('id', '=', user.userId).execute()
          return user
        },
      ],
      ['for a browser with two session cookies', 'COOKIE_CONFLICT', async () => user],
    ])('%s: %s', async (_name, code, given) => {
      const { userId } = await given()
      const before = await dumpTables(auth)
      const request = callback(
        code === 'COOKIE_CONFLICT' ? { cookie: 'service.session=a.b; service.session=c.d' } : {},
      )
      expect(await codeOf(auth.api.createSession({ userId, request }))).toBe(code)
      expect(await dumpTables(auth)).toEqual(before)
    })

    test('for one who has as many as allowed, where the setting says so: TOO_MANY_SESSIONS', async () => {
      const strict = await createTestAuth({ session: { maxSessionsPerUser: 1, whenFull: 'reject' } })
      const { userId } = await strict.createUser()
      const first = await strict.api.createSession({ userId, request: callback() })
      const before = await dumpTables(strict)
      expect(await codeOf(strict.api.createSession({ userId, request: callback() }))).toBe(
        'TOO_MANY_SESSIONS',
      )
      expect(await dumpTables(strict)).toEqual(before)
      // The browser that has it may begin another in its place.
      const request = callback({ cookie: browserAfter(first.headers) })
      expect(await strict.api.createSession({ userId, request })).toMatchObject({ userId })
      await strict.close()
    })

    test('where the database is gone: SESSIONS_UNAVAILABLE', async () => {
      const gone = await createTestAuth()
      const { userId } = await gone.createUser()
      await gone.close()
      expect(await codeOf(gone.api.createSession({ userId, request: callback() }))).toBe(
        'SESSIONS_UNAVAILABLE',
      )
    })
  })

  test('succeeds for one whose ban has ended', async () => {
    const banExpires = new Date(auth.clock.now().getTime())
    await auth.db
      .updateTable('user')
      .set({ banned: true, banExpires })
      .where('id', '=', user.userId)
      .execute()
    expect(await auth.api.createSession({ userId: user.userId, request: callback() })).toMatchObject({
      userId: user.userId,
    })
  })

  test('is served by no endpoint', async () => {
    const paths = Object.values(ENDPOINTS).map(({ path }): string => path)
    expect(paths.filter((path) => path.includes('session') && path.includes('create'))).toEqual([])
    const answer = await answerOf(auth.handler(post('/create-session', { userId: user.userId })))
    expect(answer).toBe('404 NOT_FOUND')
  })
})

import { verifyJwt } from '@sallyport/core'
import { ENDPOINTS, NO_SESSION, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { readAudit } from '../support/read-audit.ts'
import { cookiesAfter, get, post } from '../support/requests.ts'
import { statusOf } from '../support/status-of.ts'
import type { MadeUser } from '../support/user-maker.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())

let user: MadeUser
beforeEach(async () => {
  user = await auth.createUser()
})

/** Returns the request of a browser that returns from the identity provider. */
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
  test('creates a session of the user, and accepts the browser at once', async () => {
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

  test('returns the tokens themselves to a program, if bearer transport is enabled', async () => {
    const withBearer = await createTestAuth({ bearer: true })
    const { userId } = await withBearer.createUser()
    expect(await withBearer.api.createSession({ userId, request: callback() })).not.toHaveProperty('token')
    const request = callback({ [SESSION_HEADER]: NO_SESSION })
    const { token = '', sessionToken, sessionId } = await withBearer.api.createSession({ userId, request })
    expect(sessionToken).toMatch(sessionId)
    expect(await verifyJwt(token, withBearer.config)).toMatchObject({ userId, sessionId })
    await withBearer.close()
  })

  test('succeeds for a user whose ban has ended', async () => {
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

  test("isn't served by any endpoint", async () => {
    const paths = Object.values(ENDPOINTS).map(({ path }): string => path)
    expect(paths.filter((path) => path.includes('session') && path.includes('create'))).toEqual([])
    const answer = await statusOf(auth.handler(post('/create-session', { userId: user.userId })))
    expect(answer).toBe('404 NOT_FOUND')
  })
})

import { verifyJwt } from '@sallyport/core'
import { ENDPOINT_PATHS } from '@sallyport/core/protocol'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { cookieChanges, get } from '../support/requests.ts'

const auth = await createTestAuth()
const { userId } = await auth.createUser()
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  ada = await auth.signIn({ userId })
})

const refresh = (cookie: string, headers: Record<string, string> = {}) =>
  auth.handler(get(ENDPOINT_PATHS.token, { ...(cookie !== '' && { cookie }), ...headers }))
const sessionCookie = (value: string) => `service.session=${value}`

describe('a session that counts gets a new JWT', () => {
  test('in the cookie, and not in the body', async () => {
    const response = await refresh(ada.cookie)
    expect(response.status).toBe(200)
    const body = await response.json()
    expect(body).toEqual({
      expiresIn: 900,
      expiresAt: new Date(Math.floor(auth.clock.now().getTime() / 1000) * 1000 + 900_000).toISOString(),
      userId,
      sessionId: ada.sessionId,
    })
    const [header = ''] = response.headers.getSetCookie()
    expect(response.headers.getSetCookie()).toHaveLength(1)
    expect(header).toMatch(
      /^service\.jwt=[\w-]+\.[\w-]+\.[\w-]+; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    const token = header.slice('service.jwt='.length, header.indexOf(';'))
    expect(await verifyJwt(token, auth.config)).toMatchObject({ userId, sessionId: ada.sessionId })
  })

  test.each([
    ['the session cookie alone', () => sessionCookie(ada.sessionCookie)],
    ['two JWTs', () => `${ada.cookie}; service.jwt=x`],
    ['a JWT that is none', () => `service.jwt=x; ${sessionCookie(ada.sessionCookie)}`],
  ])('by %s', async (_name, cookie) => {
    const response = await refresh(cookie())
    expect(response.status).toBe(200)
    expect(cookieChanges(response)).toEqual({ set: ['service.jwt'], cleared: [] })
  })

  test('by the session cookie and not by the JWT: of two users, the one of the session cookie', async () => {
    const bob = await auth.signIn()
    const response = await refresh(`service.jwt=${bob.token}; ${sessionCookie(ada.sessionCookie)}`)
    expect(await response.json()).toMatchObject({ userId, sessionId: ada.sessionId })
  })

  test('that does not outlive the session', async () => {
    const expiresAt = new Date(auth.clock.now().getTime() + 61_000)
    await auth.db.updateTable('session').set({ expiresAt }).where('id', '=', ada.sessionId).execute()
    const response = await refresh(ada.cookie)
    const { expiresIn } = await response.json()
    expect(expiresIn).toBeGreaterThanOrEqual(60)
    expect(expiresIn).toBeLessThanOrEqual(61)
    expect(response.headers.getSetCookie()[0]).toContain(`; Max-Age=${expiresIn};`)
  })

  test('as often as it is asked for, and reads without writing', async () => {
    const before = await auth.db.selectFrom('session').selectAll().where('id', '=', ada.sessionId).execute()
    for (let i = 0; i < 3; i++) expect((await refresh(ada.cookie)).status).toBe(200)
    const after = await auth.db.selectFrom('session').selectAll().where('id', '=', ada.sessionId).execute()
    expect(after).toEqual(before)
  })
})

describe('a session that does not count gets none', () => {
  const both = ['service.jwt', 'service.session']

  test.each([
    ['no cookie', 401, 'SESSION_NOT_FOUND', both, async () => ''],
    ['the JWT alone', 401, 'SESSION_NOT_FOUND', both, async () => `service.jwt=${ada.token}`],
    ['an unknown session', 401, 'SESSION_NOT_FOUND', both, async () => sessionCookie('unknown.secret')],
    [
      'a session cookie without a secret',
      401,
      'SESSION_NOT_FOUND',
      both,
      async () => sessionCookie(ada.sessionId),
    ],
    [
      'a wrong secret',
      401,
      'SESSION_NOT_FOUND',
      both,
      async () => sessionCookie(`${ada.sessionId}.${'A'.repeat(43)}`),
    ],
    [
      'the secret of another session',
      401,
      'SESSION_NOT_FOUND',
      both,
      async () =>
        sessionCookie(`${ada.sessionId}.${(await auth.signIn({ userId })).sessionCookie.split('.')[1]}`),
    ],
    [
      'a revoked session',
      401,
      'SESSION_NOT_FOUND',
      both,
      async () => {
        await auth.revoke(ada)
        return ada.cookie
      },
    ],
    [
      'an expired session',
      401,
      'SESSION_EXPIRED',
      both,
      async () => {
        await auth.expireSession(ada)
        return ada.cookie
      },
    ],
    [
      'a session of a banned user',
      403,
      'ACCOUNT_BANNED',
      [],
      async () => {
        const carol = await auth.signIn()
        await auth.ban(carol)
        return carol.cookie
      },
    ],
    [
      'an expired session of a banned user',
      401,
      'SESSION_EXPIRED',
      both,
      async () => {
        const carol = await auth.signIn()
        await auth.ban(carol)
        await auth.expireSession(carol)
        return carol.cookie
      },
    ],
    ['two session cookies', 401, 'COOKIE_CONFLICT', [], async () => `${ada.cookie}; ${sessionCookie('x.y')}`],
  ])('%s: %i %s', async (_name, status, code, cleared, given) => {
    const response = await refresh(await given())
    const body = await response.json()
    expect({ status: response.status, code: body.code }).toEqual({ status, code })
    expect(cookieChanges(response)).toEqual({ set: [], cleared })
    expect(Object.keys(body)).toEqual(['code', 'message'])
  })

  test('a banned user reads "Account banned"', async () => {
    const carol = await auth.signIn()
    await auth.ban(carol)
    expect(await (await refresh(carol.cookie)).json()).toEqual({
      code: 'ACCOUNT_BANNED',
      message: 'Account banned',
    })
  })
})

describe('nobody asked for it', () => {
  test.each([
    { 'sec-purpose': 'prefetch' },
    { 'sec-purpose': 'prefetch;prerender' },
    { 'sec-purpose': 'prefetch;anonymous-client-ip' },
    { purpose: 'prefetch' },
  ])('a prefetch is refused: %j', async (headers) => {
    const response = await refresh(ada.cookie, headers)
    expect(response.status).toBe(400)
    expect((await response.json()).code).toBe('PREFETCH_REFUSED')
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
  })

  test('a HEAD mints nothing', async () => {
    const request = new Request(get(ENDPOINT_PATHS.token, { cookie: ada.cookie }), { method: 'HEAD' })
    const response = await auth.handler(request)
    expect(response.status).toBe(405)
    expect(response.headers.getSetCookie()).toEqual([])
  })

  test('a navigation or an image of another site mints nothing', async () => {
    for (const mode of ['navigate', 'no-cors']) {
      const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': mode, 'sec-fetch-dest': 'document' }
      expect((await refresh(ada.cookie, headers)).status).toBe(403)
    }
  })
})

test('with bearer transport the JWT is in the body too, and only then', async () => {
  const withBearer = await createTestAuth({ bearer: true })
  const { cookie } = await withBearer.signIn()
  const response = await withBearer.handler(get(ENDPOINT_PATHS.token, { cookie }))
  const { token } = await response.json()
  expect(response.headers.getSetCookie()[0]).toContain(`service.jwt=${token};`)
  // The session cookie still is what counts here: a bearer token beside it neither helps nor harms.
  const both = get(ENDPOINT_PATHS.token, { cookie, authorization: 'Bearer x' })
  expect((await withBearer.handler(both)).status).toBe(200)
  const alone = get(ENDPOINT_PATHS.token, { authorization: `Bearer ${token}` })
  expect((await withBearer.handler(alone)).status).toBe(401)
  await withBearer.close()
})

test('over https the cookies are Secure, and the session cookie is __Host-', async () => {
  const secure = await createTestAuth({ baseUrl: 'https://app.example.com' })
  const { cookie, sessionCookie } = await secure.signIn()
  expect(cookie).toContain(`__Host-service.session=${sessionCookie}`)
  const response = await secure.handler(get(ENDPOINT_PATHS.token, { cookie }))
  expect(response.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^service\.jwt=.*; Max-Age=900; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
  ])
  const refused = await secure.handler(
    get(ENDPOINT_PATHS.token, { cookie: `service.session=${sessionCookie}` }),
  )
  expect(cookieChanges(refused)).toEqual({ set: [], cleared: ['service.jwt', '__Host-service.session'] })
  await secure.close()
})

import { type AuthEvent, verifyJwt } from '@sallyport/core'
import { createAuth, defineAuth } from '@sallyport/core/auth'
import { ENDPOINTS, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { cookieChanges, cookiesAfter, get, post } from '../support/requests.ts'

const auth = await createTestAuth()
const { userId } = await auth.createUser()
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  ada = await auth.signIn({ userId })
})

const refresh = (cookie: string, headers: Record<string, string> = {}) =>
  auth.handler(get(ENDPOINTS.token.path, { ...(cookie !== '' && { cookie }), ...headers }))
const sessionCookie = (value: string) => `service.session=${value}`

describe('a valid session gets a new JWT', () => {
  test('in the cookie, not in the body', async () => {
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
    ['an invalid JWT', () => `service.jwt=x; ${sessionCookie(ada.sessionCookie)}`],
  ])('for %s', async (_name, cookie) => {
    const response = await refresh(cookie())
    expect(response.status).toBe(200)
    expect(cookieChanges(response)).toEqual({ set: ['service.jwt'], cleared: [] })
  })

  test('for the user of the session cookie if the JWT is of another user', async () => {
    const bob = await auth.signIn()
    const response = await refresh(`service.jwt=${bob.token}; ${sessionCookie(ada.sessionCookie)}`)
    expect(await response.json()).toMatchObject({ userId, sessionId: ada.sessionId })
  })

  test('that expires with the session at the latest', async () => {
    const short = await createTestAuth({ session: { absoluteLifetimeSeconds: 1_000 } })
    const { cookie } = await short.signIn()
    short.clock.advance(939)
    const response = await short.handler(get(ENDPOINTS.token.path, { cookie }))
    const { expiresIn } = await response.json()
    expect(expiresIn).toBeGreaterThanOrEqual(60)
    expect(expiresIn).toBeLessThanOrEqual(61)
    expect(response.headers.getSetCookie()[0]).toContain(`; Max-Age=${expiresIn};`)
    await short.close()
  })

  test('that expires then, also if the dates of the session were changed by hand to text without a zone', async () => {
    vi.stubEnv('TZ', 'Asia/Tokyo')
    onTestFinished(() => void vi.unstubAllEnvs())
    const now = auth.clock.now().getTime()
    const inUtc = (hours: number) =>
      sql<Date>`${new Date(now + hours * 60 * 60 * 1000).toISOString().slice(0, 19)}`
    // It has reached its absolute lifetime, so it isn't extended.
    const dates = { expiresAt: inUtc(1), createdAt: inUtc(1 - 180 * 24) }
    await auth.db.updateTable('session').set(dates).where('id', '=', ada.sessionId).execute()
    auth.clock.advance(60)
    expect(await (await refresh(ada.cookie)).json()).toMatchObject({ expiresIn: 900 })
  })

  test('as often as requested, reading without writing', async () => {
    const before = await auth.db.selectFrom('session').selectAll().where('id', '=', ada.sessionId).execute()
    for (let i = 0; i < 3; i++) expect((await refresh(ada.cookie)).status).toBe(200)
    const after = await auth.db.selectFrom('session').selectAll().where('id', '=', ada.sessionId).execute()
    expect(after).toEqual(before)
  })
})

describe('an invalid session gets no JWT', () => {
  const both = ['service.jwt', 'service.session']

  test.each([
    ['no cookie', 401, 'SESSION_NOT_FOUND', both, async () => ''],
    ['the JWT of a valid session alone', 401, 'TOKEN_MISSING', [], async () => `service.jwt=${ada.token}`],
    [
      'the JWT of an ended session alone',
      401,
      'SESSION_NOT_FOUND',
      both,
      async () => {
        await auth.revoke(ada)
        return `service.jwt=${ada.token}`
      },
    ],
    ['an invalid JWT alone', 401, 'SESSION_NOT_FOUND', both, async () => 'service.jwt=x.y.z'],
    [
      'an expired JWT alone',
      401,
      'SESSION_NOT_FOUND',
      both,
      async () => `service.jwt=${(await auth.expireJwt(ada)).token}`,
    ],
    [
      'a superseded secret',
      409,
      'SECRET_SUPERSEDED',
      [],
      async () => {
        await auth.handler(post(ENDPOINTS.revokeCopies.path, {}, { cookie: ada.cookie }))
        return ada.cookie
      },
    ],
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
})

describe('the token endpoint is rate-limited', () => {
  // All requests are in one window.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())

  /** Starts a server with its own counters, and a signed-in browser whose secret is superseded. */
  async function start() {
    const own = await createTestAuth()
    onTestFinished(() => own.close())
    const bob = await own.signIn()
    const request = post(ENDPOINTS.revokeCopies.path, {}, { cookie: bob.cookie })
    const current = cookiesAfter(bob.cookie, await own.handler(request))
    const from = async (remoteAddress: string, cookie: string) => {
      const response = await own.handler(get(ENDPOINTS.token.path, { cookie }), { remoteAddress })
      expect(response.status === 200 ? [] : response.headers.getSetCookie()).toEqual([])
      return response.status
    }
    return { ...own, bob, current, from }
  }

  test('for superseded secrets: 30 a minute for one session from one network', async () => {
    const { bob, current, from } = await start()
    for (let i = 0; i < 30; i++) expect(await from('192.0.2.66', bob.cookie)).toBe(409)
    expect(await from('192.0.2.66', bob.cookie)).toBe(429)
    expect(await from('198.51.100.1', bob.cookie)).toBe(409)
    expect(await from('192.0.2.66', current)).toBe(200)
  })

  test('for superseded secrets from an IPv6 /48: ten times as many, whichever /64 they come from', async () => {
    const { bob, current, from } = await start()
    for (let i = 0; i < 300; i++) expect(await from(`2001:db8:7:${i % 10}::1`, bob.cookie)).toBe(409)
    expect(await from('2001:db8:7:10::1', bob.cookie)).toBe(429)
    expect(await from('2001:db8:8::1', bob.cookie)).toBe(409)
    expect(await from('2001:db8:7:10::1', current)).toBe(200)
  })

  test('for a session: 300 refreshes a minute', async () => {
    const { current, from, signIn, bob } = await start()
    for (let i = 0; i < 300; i++) expect(await from(`192.0.2.${i % 250}`, current)).toBe(200)
    expect(await from('192.0.2.1', current)).toBe(429)
    const another = await signIn({ userId: bob.userId })
    expect(await from('192.0.2.1', another.cookie)).toBe(200)
  })

  test.each([
    ['without a session cookie', ({ token }: TestSession) => `service.jwt=${token}`],
    ['with an unknown secret', ({ sessionId }: TestSession) => sessionCookie(`${sessionId}.x`)],
  ])('for a network: 300 requests a minute %s', async (_name, cookieOf) => {
    const own = await createTestAuth()
    onTestFinished(() => own.close())
    const bob = await own.signIn()
    const from = async (remoteAddress: string, cookie = cookieOf(bob)) =>
      (await own.handler(get(ENDPOINTS.token.path, { cookie }), { remoteAddress })).status
    for (let i = 0; i < 300; i++) expect(await from('192.0.2.66')).toBe(401)
    expect(await from('192.0.2.66')).toBe(429)
    expect(await from('198.51.100.1')).toBe(401)
    expect(await from('192.0.2.66', bob.cookie)).toBe(200)
  })

  test('for an IPv6 /48: ten times as many, whichever /64 they come from', async () => {
    const own = await createTestAuth()
    onTestFinished(() => own.close())
    const cookie = 'service.session=x.y'
    const from = async (remoteAddress: string) =>
      (await own.handler(get(ENDPOINTS.token.path, { cookie }), { remoteAddress })).status
    // All but one.
    for (let i = 1; i < 3_000; i++)
      await own.database.limits.consume('token:rejected:2001:db8:7::/48', { points: 3_000, duration: 60 })
    expect(await from('2001:db8:7:1::1')).toBe(401)
    expect(await from('2001:db8:7:2::1')).toBe(429)
    expect(await from('2001:db8:8::1')).toBe(401)
  })
})

describe('a continued session', () => {
  const DAY_SECONDS = 24 * 60 * 60
  const events: AuthEvent[] = []
  const onEvent = (event: AuthEvent) => void events.push(event)

  /** Starts an auth server and a signed-in browser. Its refreshes store the received cookies. */
  async function start(options: Parameters<typeof createTestAuth>[0] = {}) {
    const own = await createTestAuth({ onEvent, ...options })
    onTestFinished(() => own.close())
    const bob = await own.signIn()
    let { cookie } = bob
    events.length = 0
    return {
      ...own,
      bob,
      row: () => own.db.selectFrom('session').selectAll().where('id', '=', bob.sessionId).executeTakeFirst(),
      async refresh(given = cookie) {
        const response = await own.handler(get(ENDPOINTS.token.path, { cookie: given }))
        cookie = cookiesAfter(given, response)
        return response
      },
    }
  }

  test('by default no JWT and no cookie outlives 180 days from the sign-in', async () => {
    const { refresh, clock } = await start()
    const end = clock.now().getTime() + 180 * DAY_SECONDS * 1000
    const left = () => (end - clock.now().getTime()) / 1000
    for (let day = 0; day < 179; day += 20) {
      clock.advance((day === 0 ? 19 : 20) * DAY_SECONDS)
      const ages = (await refresh()).headers
        .getSetCookie()
        .map((cookie) => Number(/Max-Age=(\d+)/.exec(cookie)?.[1]))
      for (const age of ages) expect(age).toBeLessThanOrEqual(left())
    }
    clock.advance(left() - 60)
    const last = await refresh()
    const { expiresIn, expiresAt } = await last.json()
    expect(expiresIn).toBe(60)
    expect(Date.parse(expiresAt)).toBeLessThanOrEqual(end)
    clock.advance(60)
    expect(await (await refresh()).json()).toMatchObject({ code: 'SESSION_EXPIRED' })
  })

  test('gets no token if it ends while definePayload runs', async () => {
    const own = await start({ session: { rotateSessionToken: true } })
    const definition = defineAuth({
      config: own.config,
      signingKeys: own.definition.signingKeys,
      definePayload: async () => {
        await own.revoke(own.bob)
        return {}
      },
    })
    const { handler } = await createAuth(definition, own.database, { pruneEverySeconds: 0 })
    const response = await handler(get(ENDPOINTS.token.path, { cookie: own.bob.cookie }))
    expect(response.status).toBe(401)
    expect((await response.json()).code).toBe('SESSION_NOT_FOUND')
    expect(cookieChanges(response).set).toEqual([])
  })

  describe('gets a new secret each time if secrets rotate', () => {
    const rotating = { session: { rotateSessionToken: true } }

    test('accepts the previous secret for 30 seconds, then ends the session in the same request', async () => {
      const { refresh, clock, bob, row } = await start(rotating)
      const response = await refresh()
      expect(cookieChanges(response)).toEqual({ set: ['service.jwt', 'service.session'], cleared: [] })
      const current = cookiesAfter(bob.cookie, response)
      expect(current).not.toContain(bob.sessionCookie)
      clock.advance(30)
      const late = await refresh(bob.cookie)
      expect(late.status).toBe(200)
      expect(cookieChanges(late)).toEqual({ set: ['service.jwt'], cleared: [] })
      clock.advance(1)
      const replay = await refresh(bob.cookie)
      expect({ status: replay.status, code: (await replay.json()).code }).toEqual({
        status: 401,
        code: 'SESSION_NOT_FOUND',
      })
      expect(cookieChanges(replay)).toEqual({ set: [], cleared: ['service.jwt', 'service.session'] })
      expect(await row()).toBeUndefined()
      expect((await refresh(current)).status).toBe(401)
    })
  })
})

describe('a prefetch', () => {
  test.each([
    { 'sec-purpose': 'prefetch' },
    { 'sec-purpose': 'prefetch;prerender' },
    { 'sec-purpose': 'prefetch;anonymous-client-ip' },
    { purpose: 'prefetch' },
    { purpose: 'Prefetch' },
    { 'x-moz': 'prefetch' },
  ])('rejects a prefetch: %j', async (headers) => {
    const response = await refresh(ada.cookie, headers)
    expect(response.status).toBe(400)
    expect((await response.json()).code).toBe('PREFETCH_REJECTED')
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
  })

  test('issues nothing for a HEAD request', async () => {
    const request = new Request(get(ENDPOINTS.token.path, { cookie: ada.cookie }), { method: 'HEAD' })
    const response = await auth.handler(request)
    expect(response.status).toBe(405)
    expect(response.headers.getSetCookie()).toEqual([])
  })

  test('issues nothing for a navigation or an image of another site', async () => {
    for (const mode of ['navigate', 'no-cors']) {
      const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': mode, 'sec-fetch-dest': 'document' }
      expect((await refresh(ada.cookie, headers)).status).toBe(403)
    }
  })
})

test('returns the JWT in the body to a program with bearer transport, and never to a page with cookies', async () => {
  const withBearer = await createTestAuth({ bearer: true })
  const { cookie, sessionCookie } = await withBearer.signIn()
  const page = await withBearer.handler(get(ENDPOINTS.token.path, { cookie }))
  expect(await page.json()).not.toHaveProperty('token')
  const response = await withBearer.handler(get(ENDPOINTS.token.path, { [SESSION_HEADER]: sessionCookie }))
  const { token } = await response.json()
  expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
  // The session cookie decides here. A bearer token next to it has no effect.
  const both = get(ENDPOINTS.token.path, { cookie, authorization: 'Bearer x' })
  expect((await withBearer.handler(both)).status).toBe(200)
  const alone = get(ENDPOINTS.token.path, { authorization: `Bearer ${token}` })
  expect((await withBearer.handler(alone)).status).toBe(401)
  await withBearer.close()
})

test('over https the cookies are Secure, and the session cookie is __Host-', async () => {
  const secure = await createTestAuth({ baseUrl: 'https://app.example.com' })
  const { cookie, sessionCookie } = await secure.signIn()
  expect(cookie).toContain(`__Host-service.session=${sessionCookie}`)
  const response = await secure.handler(get(ENDPOINTS.token.path, { cookie }))
  expect(response.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^service\.jwt=.*; Max-Age=900; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
  ])
  const rejected = await secure.handler(
    get(ENDPOINTS.token.path, { cookie: `service.session=${sessionCookie}` }),
  )
  expect(cookieChanges(rejected)).toEqual({ set: [], cleared: ['service.jwt', '__Host-service.session'] })
  await secure.close()
})

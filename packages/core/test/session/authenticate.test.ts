import { type AuthEvent, authenticate, identify, isAuthError, type KeyStatus } from '@sallyport/core'
import { ENDPOINTS, REASONS } from '@sallyport/core/internal/protocol'
import { createTestAuth, type TestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { checkIdentity, validateIdentity } from '../../src/session/authenticate.ts'
import { hashSecret } from '../../src/session/secret.ts'
import { eventually } from '../support/eventually.ts'
import { incoming } from '../support/incoming.ts'
import { reasonOf } from '../support/reason-of.ts'
import { recordTelemetry } from '../support/record-telemetry.ts'
import { cookieChanges, cookiesAfter, get, post } from '../support/requests.ts'

const auth = await createTestAuth({ allowedOrigins: ['https://admin.example.com'] })
const admin = await auth.signIn({ role: 'admin' })
let ada: TestSession

afterAll(() => auth.close())
beforeEach(async () => {
  ada = await auth.signIn()
  auth.lookups.reset()
})

/** Sends one request with these cookies. Returns the result, and how often Step 2 queried the database. */
async function request(cookie: string): Promise<{ status: number; reason: string | null; lookups: number }> {
  auth.lookups.reset()
  try {
    const { identity, session } = await authenticate(incoming({ cookie }), 'query', {
      config: auth.config,
      sessions: auth.database.sessions,
    })
    expect(session).toMatchObject({ id: identity.sessionId, userId: identity.userId })
    return { status: 200, reason: null, lookups: auth.lookups.count }
  } catch (error) {
    if (!isAuthError(error)) throw error
    expect(error.message).toBe(REASONS[error.reason].message)
    return { status: error.status, reason: error.reason, lookups: auth.lookups.count }
  }
}

const refresh = (cookie: string) => auth.handler(get(ENDPOINTS.token.path, { cookie }))

describe('scenario matrix (spec section 3)', () => {
  interface Row {
    scenario: string
    jwt: string
    session: string
    result: string
    /** Sets up the state and returns the browser's cookies. */
    given: (auth: TestAuth, ada: TestSession) => Promise<string>
    answer: { status: number; reason: string | null; lookups: number }
    /** The expected response of the token endpoint, if the client calls it. */
    refresh?: { status: number; code?: string }
  }

  const rows: Row[] = [
    {
      scenario: 'Normal',
      jwt: 'valid',
      session: 'valid',
      result: '200',
      given: async (_auth, { cookie }) => cookie,
      answer: { status: 200, reason: null, lookups: 1 },
    },
    {
      scenario: 'User signs out',
      jwt: 'deleted',
      session: 'deleted',
      result: '401',
      given: async (auth, { cookie }) =>
        cookiesAfter(cookie, await auth.handler(post(ENDPOINTS.signOut.path, undefined, { cookie }))),
      answer: { status: 401, reason: 'TOKEN_MISSING', lookups: 0 },
      refresh: { status: 401, code: 'SESSION_NOT_FOUND' },
    },
    {
      scenario: 'Admin revokes session',
      jwt: 'valid',
      session: 'deleted',
      result: '401',
      async given(auth, { cookie, sessionId }) {
        const revocation = post(ENDPOINTS.revokeUserSession.path, { sessionId }, { cookie: admin.cookie })
        expect(await (await auth.handler(revocation)).json()).toEqual({ revoked: true })
        return cookie
      },
      answer: { status: 401, reason: 'SESSION_NOT_FOUND', lookups: 1 },
    },
    {
      scenario: 'JWT expired, session valid',
      jwt: 'expired',
      session: 'valid',
      result: 'auto-refresh then 200',
      given: async (auth, session) => (await auth.expireJwt(session)).cookie,
      answer: { status: 401, reason: 'TOKEN_EXPIRED', lookups: 0 },
      refresh: { status: 200 },
    },
    {
      scenario: 'JWT expired, session expired',
      jwt: 'expired',
      session: 'expired',
      result: '401',
      async given(auth, session) {
        await auth.expireSession(session)
        return (await auth.expireJwt(session)).cookie
      },
      answer: { status: 401, reason: 'TOKEN_EXPIRED', lookups: 0 },
      refresh: { status: 401, code: 'SESSION_EXPIRED' },
    },
    {
      scenario: 'JWT valid, session expired',
      jwt: 'valid',
      session: 'expired',
      result: '401',
      async given(auth, session) {
        await auth.expireSession(session)
        return session.cookie
      },
      answer: { status: 401, reason: 'SESSION_EXPIRED', lookups: 1 },
    },
    {
      scenario: 'User banned',
      jwt: 'valid',
      session: 'valid with banned flag',
      result: '403',
      async given(auth, session) {
        await auth.ban(session)
        return session.cookie
      },
      answer: { status: 403, reason: 'ACCOUNT_BANNED', lookups: 1 },
    },
  ]

  test.each(rows)('$scenario: JWT $jwt, session $session: $result', async (row) => {
    const cookie = await row.given(auth, ada)
    expect(await request(cookie)).toEqual(row.answer)

    if (row.refresh === undefined) return
    const response = await refresh(cookie)
    expect({ status: response.status, code: (await response.json()).code }).toEqual({
      status: row.refresh.status,
      code: row.refresh.code,
    })
    const isRefreshed = response.status === 200
    expect(cookieChanges(response).set).toEqual(isRefreshed ? ['service.jwt'] : [])
    const again = await request(cookiesAfter(cookie, response))
    expect(again).toMatchObject(isRefreshed ? { status: 200, lookups: 1 } : { status: 401, lookups: 0 })
  })

  test('User banned: the message is "Account banned"', async () => {
    await auth.ban(ada)
    const both = { config: auth.config, sessions: auth.database.sessions }
    const call = authenticate(incoming({ cookie: ada.cookie }), 'query', both)
    await expect(call).rejects.toMatchObject({ status: 403, message: 'Account banned' })
  })

  test('User signs out: a copy of the JWT is rejected', async () => {
    await auth.handler(post(ENDPOINTS.signOut.path, undefined, { cookie: ada.cookie }))
    const thief = await request(`service.jwt=${ada.token}`)
    expect(thief).toEqual({ status: 401, reason: 'SESSION_NOT_FOUND', lookups: 1 })
  })
})

test('Step 2 queries the database on every request, although Step 1 caches the token', async () => {
  for (let i = 0; i < 5; i++) expect(await request(ada.cookie)).toMatchObject({ status: 200, lookups: 1 })
  await auth.revoke(ada)
  expect(await request(ada.cookie)).toMatchObject({ reason: 'SESSION_NOT_FOUND', lookups: 1 })
})

describe('Step 1 rejects before the database is queried', () => {
  test.each([
    ['no cookie', () => '', 'TOKEN_MISSING'],
    ['cookies of others', () => 'theme=dark', 'TOKEN_MISSING'],
    ['the session cookie alone', () => `service.session=${ada.sessionCookie}`, 'TOKEN_MISSING'],
    ['an invalid JWT', () => 'service.jwt=hello', 'TOKEN_INVALID'],
    ['two JWTs', () => `service.jwt=${ada.token}; service.jwt=${admin.token}`, 'COOKIE_CONFLICT'],
    ['two session cookies', () => `${ada.cookie}; service.session=${admin.sessionCookie}`, 'COOKIE_CONFLICT'],
    [
      'the session cookie of another session',
      () => `service.jwt=${ada.token}; service.session=${admin.sessionCookie}`,
      'TOKEN_INVALID',
    ],
    [
      'a session cookie without a secret',
      () => `service.jwt=${ada.token}; service.session=x`,
      'TOKEN_INVALID',
    ],
  ])('%s', async (_name, cookie, reason) => {
    expect(await request(cookie())).toEqual({ status: 401, reason, lookups: 0 })
  })
})

test('accepts a JWT without a session cookie', async () => {
  expect(await request(`service.jwt=${ada.token}`)).toMatchObject({ status: 200 })
})

describe('checks the origin if a cookie is sent', () => {
  const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  const cookies = [
    ['both cookies', () => ada.cookie],
    ['the JWT alone', () => `service.jwt=${ada.token}`],
    ['the session cookie alone', () => `service.session=${ada.sessionCookie}`],
  ] as const

  test.each(cookies)('rejects a foreign site with %s before it reads the token', async (_name, cookie) => {
    const headers = { ...evil, cookie: cookie() }
    for (const kind of ['query', 'mutation', 'subscription', 'token', 'upgrade'] as const) {
      expect(await reasonOf(identify(incoming(headers), kind, auth.config))).toBe('ORIGIN_REJECTED')
    }
  })

  test('accepts a listed origin', async () => {
    const headers = { cookie: ada.cookie, origin: 'https://admin.example.com', 'sec-fetch-site': 'same-site' }
    expect(await reasonOf(identify(incoming(headers, 'POST'), 'mutation', auth.config))).toBe('accepted')
  })

  test('a foreign site without auth cookies is anonymous, not rejected', async () => {
    const headers = { ...evil, cookie: 'theme=dark' }
    expect(await reasonOf(identify(incoming(headers), 'mutation', auth.config))).toBe('TOKEN_MISSING')
  })

  test("accepts a foreign site with a bearer token, because browsers don't add one automatically", async () => {
    const config = { ...auth.config, bearer: true }
    const headers = { ...evil, cookie: admin.cookie, authorization: `Bearer ${ada.token}` }
    expect(await identify(incoming(headers, 'POST'), 'mutation', config)).toMatchObject({
      userId: ada.userId,
    })
  })
})

describe('Step 2 takes from the config', () => {
  test('its timeout', async () => {
    const never = { findSession: () => new Promise<never>(() => {}) }
    const reasonWith = (lookupTimeoutMs: number) => {
      const both = { config: { ...auth.config, lookupTimeoutMs }, sessions: never }
      return reasonOf(authenticate(incoming({ cookie: ada.cookie }), 'query', both))
    }
    // Of two lookups that never end, the one with the shorter timeout is rejected first.
    const first = Promise.race([reasonWith(60_000).then(() => 'the longer'), reasonWith(1)])
    expect(await first).toBe('SESSIONS_UNAVAILABLE')
  })

  test('its clock', async () => {
    const expiresAt = new Date(auth.clock.now().getTime() + 60_000)
    await auth.db.updateTable('session').set({ expiresAt }).where('id', '=', ada.sessionId).execute()
    const later = { ...auth.config, now: () => expiresAt }
    const both = { config: later, sessions: auth.database.sessions }
    expect(await reasonOf(authenticate(incoming({ cookie: ada.cookie }), 'query', both))).toBe(
      'SESSION_EXPIRED',
    )
  })
})

test.each([
  ['with the system of the store', 'sqlite'],
  ['of a store that names no system', undefined],
] as const)('with telemetry, each step has a span, %s', async (_name, system) => {
  const { telemetry, recorded } = recordTelemetry()
  const { findSession } = auth.database.sessions
  const sessions = { findSession, meter: system && { system, telemetry: undefined } }
  const config = { ...auth.config, telemetry }
  await authenticate(incoming({ cookie: ada.cookie }), 'query', { config, sessions })
  const spans = recorded.filter(([method]) => method === 'trace')
  expect(spans).toEqual([
    ['trace', { name: 'step1' }],
    ['trace', { name: 'step2', system }],
  ])
})

describe('an identity from an earlier request', () => {
  const OTHER = 'https://id.example.com'
  const { sessions } = auth.database
  const events: AuthEvent[] = []

  /** A configuration whose keys have this status, beside an issuer whose keys are all known. */
  function configWith(status: KeyStatus) {
    const [own] = auth.config.issuers
    const keysThat = (each: KeyStatus) => ({ ...own.jwks, status: () => each })
    const issuers = [
      { ...own, jwks: keysThat(status) },
      { ...own, issuer: OTHER, jwks: keysThat('known') },
    ] as const
    return { ...auth.config, issuers, onEvent: (event: AuthEvent) => void events.push(event) }
  }

  const identityOf = (cookie: string) => identify(incoming({ cookie }), 'query', auth.config)

  test.each([
    ['known', 60, auth.config.issuer, 'accepted'],
    ['known', -60, auth.config.issuer, 'accepted'],
    ['revoked', 60, auth.config.issuer, 'TOKEN_INVALID'],
    ['revoked', -60, auth.config.issuer, 'TOKEN_INVALID'],
    ['gone', 60, auth.config.issuer, 'TOKEN_INVALID'],
    ['gone', 0, auth.config.issuer, 'accepted'],
    ['gone', -60, auth.config.issuer, 'accepted'],
    ['revoked', 60, OTHER, 'accepted'],
    ['known', 60, 'https://unknown.example.com', 'TOKEN_INVALID'],
  ] as const)(
    'a key that is %s, a token that expires in %i s, of %s: %s',
    async (status, seconds, issuer, reason) => {
      const expiresAt = new Date(auth.clock.now().getTime() + seconds * 1000)
      const identity = { ...(await identityOf(ada.cookie)), expiresAt, issuer }
      const config = configWith(status)
      expect(await reasonOf(validateIdentity(identity, { config, sessions }))).toBe(reason)
      const found = await sessions.findSession(identity)
      expect(await reasonOf((async () => checkIdentity(identity, found, config))())).toBe(reason)
    },
  )

  test('is rejected if its session was deleted or has expired, and the rejection is reported', async () => {
    const config = configWith('known')
    const identity = await identityOf(ada.cookie)
    const found = await sessions.findSession(identity)
    const check = async (row: typeof found) => checkIdentity(identity, row, config)
    events.length = 0
    expect(await check(found)).toMatchObject({ id: ada.sessionId })
    expect(await reasonOf(check(null))).toBe('SESSION_NOT_FOUND')
    const expired = found && { ...found, expiresAt: auth.clock.now() }
    expect(await reasonOf(check(expired))).toBe('SESSION_EXPIRED')
    const shared = { step: 2, sessionIdHash: await hashSecret(ada.sessionId) }
    await eventually(() =>
      expect(events).toMatchObject([
        { ...shared, reason: 'SESSION_NOT_FOUND' },
        { ...shared, reason: 'SESSION_EXPIRED' },
      ]),
    )
  })
})

import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { AUTH_PATH, ENDPOINTS, NO_SESSION, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { withOwnTables } from '../../src/plugins/email-password/tables.ts'
import { serve } from '../sign-in-elsewhere/serve.ts'
import { dumpTables } from '../support/dump-tables.ts'
import { createPerson, createScene, ENDPOINT_CASES, type Person } from '../support/endpoint-cases.ts'
import { everyPasswordOption, startEveryPlugin } from '../support/every-plugin.ts'
import { cookieChanges, get, post } from '../support/requests.ts'
import { statusOf } from '../support/status-of.ts'
import type { MadeUser } from '../support/user-maker.ts'

const everyPlugin = await startEveryPlugin()

const PLENTY = { points: 1_000_000, duration: 60 }
const common = {
  // A link is created after the response, possibly after its test has ended.
  onFailure: () => {},
  emailPassword: everyPasswordOption,
  plugins: everyPlugin,
  allowedOrigins: ['https://app.example'],
} as const
const auth = await createTestAuth({ ...common, bearer: true })
const cookiesOnly = await createTestAuth(common)
afterAll(() => Promise.all([auth.close(), cookiesOnly.close()]))

type TestAuth = typeof auth
type Headers = Record<string, string>

const NAMES = Object.keys(ENDPOINTS) as (keyof typeof ENDPOINTS)[]
const CLEARED = ['service.jwt', 'service.session']

function call(name: keyof typeof ENDPOINTS, headers: Headers, input: object = {}, on: TestAuth = auth) {
  const { method, path } = ENDPOINTS[name]
  const query = new URLSearchParams(Object.entries(input).map(([key, value]) => [key, String(value)]))
  return on.handler(method === 'GET' ? get(`${path}?${query}`, headers) : post(path, input, headers))
}

/** Returns the headers that a program with bearer transport sends. */
const bearing = ({ token, sessionCookie }: TestSession): Headers => ({
  authorization: `Bearer ${token}`,
  [SESSION_HEADER]: sessionCookie,
})

const isThere = async ({ sessionId, userId }: Pick<TestSession, 'sessionId' | 'userId'>) =>
  (await auth.database.sessions.findSession({ sessionId, userId })) !== null

let ada: Person
let bob: Person
beforeEach(async () => {
  ada = await createPerson(auth)
  bob = await createPerson(auth)
})

describe('every endpoint', () => {
  test.each(NAMES)('%s ignores cookies next to the header', async (name) => {
    const scene = await createScene(auth)
    const { caller, input, answers, browserCookie = 'a=b' } = ENDPOINT_CASES[name]
    const cookie = `${scene[caller].cookie}; ${browserCookie}`
    const headers = { [SESSION_HEADER]: NO_SESSION, cookie }
    const response = await call(name, headers, await input(scene))
    expect(response.headers.getSetCookie()).toEqual([])
    // A sign-in at a provider needs the challenge of the app instead of a cookie.
    const answer = name === 'signInOauth' ? '400 INVALID_INPUT' : answers.anonymous
    expect(await statusOf(response)).toBe(answer)
    // These two need only a link.
    const endsSessions = name === 'resetPassword' || name === 'undoEmailChange'
    expect(await isThere(scene[caller])).toBe(!endsSessions)
  })
})

describe('the token endpoint', () => {
  const refresh = (sessionToken: string, headers: Headers = {}, on: TestAuth = auth) =>
    call('token', { [SESSION_HEADER]: sessionToken, ...headers }, {}, on)

  test('returns a JWT to a client with the secret, and never returns the secret', async () => {
    const response = await refresh(ada.sessionCookie)
    const { token, ...body } = await response.json()
    expect(body).toEqual({
      expiresIn: 900,
      expiresAt: expect.any(String),
      userId: ada.userId,
      sessionId: ada.sessionId,
    })
    expect(await statusOf(call('getSession', { authorization: `Bearer ${token}` }))).toBe('200')
  })

  test('returns neither to a client that sends cookies', async () => {
    auth.clock.advance(24 * 60 * 60 + 1)
    const response = await call('token', { cookie: ada.cookie })
    expect(cookieChanges(response)).toEqual({ set: ['service.jwt', 'service.session'], cleared: [] })
    const body = await response.json()
    expect([body.token, body.sessionToken]).toEqual([undefined, undefined])
  })

  test('returns the secret when the session is renewed', async () => {
    auth.clock.advance(24 * 60 * 60 + 1)
    const response = await refresh(ada.sessionCookie)
    expect(await response.json()).toMatchObject({ sessionToken: ada.sessionCookie })
    expect(response.headers.getSetCookie()).toEqual([])
  })

  test('returns the next secret if secrets rotate at every refresh, and the previous one ends the session', async () => {
    const rotating = await createTestAuth({ ...common, bearer: true, session: { rotateSessionToken: true } })
    const { sessionCookie } = await rotating.signIn()
    const { sessionToken } = await (await refresh(sessionCookie, {}, rotating)).json()
    expect(sessionToken).not.toBe(sessionCookie)
    rotating.clock.advance(31)
    expect(await statusOf(refresh(sessionToken, {}, rotating))).toBe('200')
    rotating.clock.advance(31)
    const replay = await refresh(sessionToken, {}, rotating)
    expect(replay.headers.getSetCookie()).toEqual([])
    expect(await statusOf(replay)).toBe('401 SESSION_NOT_FOUND')
    await rotating.close()
  })
})

describe('sign-in', () => {
  const signIn = (headers: Headers, { email }: Pick<MadeUser, 'email'> = ada, on: TestAuth = auth) =>
    call('signInEmail', headers, { email, password: TEST_PASSWORD }, on)
  const devicesOf = ({ userId }: MadeUser) =>
    withOwnTables(auth.db).selectFrom('knownDevice').select('id').where('userId', '=', userId).execute()

  test('returns the secret of the new session and its JWT', async () => {
    const body = await (await signIn({ [SESSION_HEADER]: NO_SESSION })).json()
    expect(body.sessionToken).toMatch(new RegExp(`^${body.sessionId}\\.[\\w-]{91}$`))
    const refreshed = await (await call('token', { [SESSION_HEADER]: body.sessionToken })).json()
    expect(refreshed).toMatchObject({ sessionId: body.sessionId, userId: ada.userId })
  })

  test('ends the session in the header, and ignores the cookies', async () => {
    expect(await statusOf(signIn({ [SESSION_HEADER]: ada.sessionCookie, cookie: bob.cookie }))).toBe('200')
    expect(await isThere(ada)).toBe(false)
    expect(await isThere(bob)).toBe(true)
  })

  test("doesn't remember the device, because no browser would have its cookie", async () => {
    await signIn({ [SESSION_HEADER]: NO_SESSION })
    expect(await devicesOf(ada)).toEqual([])
  })

  test('is treated as an unknown device, even with the cookie of a known one', async () => {
    const limits = { account: { points: 1, duration: 60 }, address: PLENTY }
    const strict = await createTestAuth({ ...common, bearer: true, emailPassword: { limits } })
    const user = await strict.createUser()
    const known = await signIn({}, user, strict)
    const [device = ''] = known.headers
      .getSetCookie()
      .filter((cookie) => cookie.startsWith('service.device='))
    const cookie = device.split(';')[0] ?? ''
    const byHeader = { [SESSION_HEADER]: NO_SESSION, cookie }
    const wrong = { email: user.email, password: 'a wrong password' }
    expect(await statusOf(strict.handler(post(ENDPOINTS.signInEmail.path, wrong)))).toBe(
      '401 INVALID_CREDENTIALS',
    )
    expect(await statusOf(signIn(byHeader, user, strict))).toBe('429 RATE_LIMITED')
    expect(await statusOf(signIn({ cookie }, user, strict))).toBe('200')
    await strict.close()
  })
})

describe('sign-out', () => {
  test.each<[string, () => Headers, { ada: boolean; bob: boolean }]>([
    [
      'the session in the header',
      () => ({ [SESSION_HEADER]: ada.sessionCookie, cookie: bob.cookie }),
      { ada: false, bob: true },
    ],
    [
      'the session in the header, whatever JWT is sent with it',
      () => ({ [SESSION_HEADER]: ada.sessionCookie, authorization: `Bearer ${bob.token}` }),
      { ada: false, bob: true },
    ],
    [
      'the session in the JWT if the header has none',
      () => ({ [SESSION_HEADER]: NO_SESSION, authorization: `Bearer ${ada.token}`, cookie: bob.cookie }),
      { ada: false, bob: true },
    ],
    [
      'no session if the secret is unknown',
      () => ({ [SESSION_HEADER]: `${ada.sessionId}.${'A'.repeat(43)}`, cookie: bob.cookie }),
      { ada: true, bob: true },
    ],
    [
      'no session of a cookie',
      () => ({ [SESSION_HEADER]: NO_SESSION, cookie: bob.cookie }),
      { ada: true, bob: true },
    ],
  ])('ends %s', async (_name, headers, left) => {
    const response = await call('signOut', headers())
    expect(response.headers.getSetCookie()).toEqual([])
    expect(await statusOf(response)).toBe('200')
    expect({ ada: await isThere(ada), bob: await isThere(bob) }).toEqual(left)
  })

  test('clears the cookies as usual without the header', async () => {
    expect(cookieChanges(await call('signOut', { cookie: ada.cookie }))).toEqual({
      set: [],
      cleared: CLEARED,
    })
  })
})

describe.each([
  { name: 'reauthenticate', input: { password: TEST_PASSWORD } },
  { name: 'revokeCopies', input: {} },
  {
    name: 'changePassword',
    input: { currentPassword: TEST_PASSWORD, newPassword: 'another rare password' },
  },
] as const)('$name', ({ name, input }) => {
  test('responds with both new credentials, and the old ones stop working', async () => {
    const { sessionToken, token, ...rest } = await (await call(name, bearing(ada), input)).json()
    expect(rest).toEqual({
      expiresIn: 900,
      expiresAt: expect.any(String),
      userId: ada.userId,
      sessionId: ada.sessionId,
    })
    expect(await statusOf(call('getSession', { authorization: `Bearer ${token}` }))).toBe('200')
    expect(await statusOf(call('getSession', { authorization: `Bearer ${ada.token}` }))).toBe(
      '401 TOKEN_INVALID',
    )
    expect(sessionToken).toMatch(new RegExp(`^${ada.sessionId}\\.`))
    expect(sessionToken).not.toBe(ada.sessionCookie)
    expect(await statusOf(call('token', { [SESSION_HEADER]: ada.sessionCookie }))).toBe(
      '409 SECRET_SUPERSEDED',
    )
    auth.clock.advance(31)
    expect(await statusOf(call('token', { [SESSION_HEADER]: sessionToken }))).toBe('200')
    expect(await statusOf(call('token', { [SESSION_HEADER]: ada.sessionCookie }))).toBe(
      '409 SECRET_SUPERSEDED',
    )
  })

  test.each<[string, () => Headers]>([
    ['no session header', () => ({})],
    ['none', () => ({ [SESSION_HEADER]: NO_SESSION })],
    ['a made-up secret', () => ({ [SESSION_HEADER]: `${ada.sessionId}.${'A'.repeat(43)}` })],
    ['no secret', () => ({ [SESSION_HEADER]: ada.sessionId })],
  ])('rejects a caller who has the JWT but not the secret: %s', async (_name, headers) => {
    const sent = { authorization: `Bearer ${ada.token}`, cookie: ada.cookie, ...headers() }
    const before = await dumpTables(auth)
    const response = await call(name, sent, input)
    expect(response.headers.getSetCookie()).toEqual([])
    expect(await statusOf(response)).toBe('400 SESSION_SECRET_REQUIRED')
    expect(await dumpTables(auth)).toEqual(before)
    expect(await statusOf(call('token', { [SESSION_HEADER]: ada.sessionCookie }))).toBe('200')
  })

  test("rejects a header whose session differs from the JWT's", async () => {
    const before = await dumpTables(auth)
    const headers = { authorization: `Bearer ${ada.token}`, [SESSION_HEADER]: bob.sessionCookie }
    expect(await statusOf(call(name, headers, input))).toBe('401 TOKEN_INVALID')
    expect(await dumpTables(auth)).toEqual(before)
  })
})

describe('over a socket', () => {
  let received: Headers[] = []
  const origin = serve((request, options) => {
    received.push(Object.fromEntries(request.headers))
    return auth.handler(request, options)
  })

  test('a program signs up, refreshes, re-authenticates, and signs out without cookies on either side', async () => {
    received = []
    const program = { sessionToken: NO_SESSION, token: '' }
    async function send(name: keyof typeof ENDPOINTS, input?: object): Promise<number> {
      const { method, path } = ENDPOINTS[name]
      const response = await fetch(`${await origin}${AUTH_PATH}${path}`, {
        method,
        headers: {
          'x-sallyport': '1',
          [SESSION_HEADER]: program.sessionToken,
          ...(program.token !== '' && { authorization: `Bearer ${program.token}` }),
          ...(input !== undefined && { 'content-type': 'application/json' }),
        },
        ...(input !== undefined && { body: JSON.stringify(input) }),
      })
      expect(response.headers.getSetCookie()).toEqual([])
      const { sessionToken, token }: { sessionToken?: string; token?: string } = await response.json()
      program.sessionToken = sessionToken ?? program.sessionToken
      program.token = token ?? program.token
      return response.status
    }
    const account = { name: 'Ada', email: `${crypto.randomUUID()}@example.com`, password: 'a rare password' }
    const answers: [string, number][] = []
    answers.push(['sign-up', await send('signUpEmail', account)])
    auth.clock.advance(16 * 60)
    answers.push(['late', await send('getSession')])
    answers.push(['refresh', await send('token')])
    answers.push(['get the session', await send('getSession')])
    answers.push(['proof', await send('reauthenticate', { password: account.password })])
    auth.clock.advance(16 * 60)
    answers.push(['refresh by the new secret', await send('token')])
    answers.push(['sign-out', await send('signOut', {})])
    answers.push(['refresh', await send('token')])
    expect(answers).toEqual([
      ['sign-up', 200],
      ['late', 401],
      ['refresh', 200],
      ['get the session', 200],
      ['proof', 200],
      ['refresh by the new secret', 200],
      ['sign-out', 200],
      ['refresh', 401],
    ])
    expect(received.filter(({ cookie }) => cookie !== undefined)).toEqual([])
  })

  test('two headers are invalid', async () => {
    const { hostname, port } = new URL(await origin)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    const line = `${SESSION_HEADER}: ${ada.sessionCookie}`
    socket.write(
      [
        `GET ${AUTH_PATH}${ENDPOINTS.token.path} HTTP/1.1`,
        'host: localhost:3000',
        'connection: close',
        'x-sallyport: 1',
        `cookie: ${ada.cookie}`,
        line,
        line,
        '\r\n',
      ].join('\r\n'),
    )
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1.1 401 /)
    expect(answer).toContain('"code":"SESSION_NOT_FOUND"')
    expect(answer.toLowerCase()).not.toContain('set-cookie')
  })
})

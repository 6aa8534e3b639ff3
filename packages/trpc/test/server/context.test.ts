import type { AuthConfig, Reason } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import type { TestSession } from '@sallyport/core/testing'
import { createAuthContext } from '@sallyport/trpc'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { authRequest } from '../../src/server/auth-handle.ts'
import { ask, callerFor, connectWebSocket } from '../support/connect.ts'
import { outcomeOf } from '../support/outcome.ts'
import { rawRequest } from '../support/raw-request.ts'
import { soon } from '../support/soon.ts'
import { PATHS, startServer } from '../support/start-server.ts'
import { browser, FOREIGN, ORIGIN } from '../support/visitor.ts'

const server = await startServer()
const bearerServer = await startServer({ bearer: true })
afterEach(async () => {
  await server.clear()
  await bearerServer.clear()
})
afterAll(async () => {
  await server.close()
  await bearerServer.close()
})

const reasonOf = async (call: Promise<unknown>): Promise<Reason | null> =>
  (await outcomeOf(call)).rejection?.auth?.reason ?? null

describe('bearer transport', () => {
  const authorization = (session: TestSession) => ({ authorization: `Bearer ${session.token}` })

  test.each(Object.entries(PATHS))('accepts the Authorization header, %s adapter', async (_adapter, root) => {
    const headers = {
      ...authorization(await bearerServer.auth.signIn()),
      'content-type': 'application/json',
    }
    for (const request of [
      { path: `${root}/me`, headers },
      { path: `${root}/me`, headers: { ...headers, ...FOREIGN } },
      { method: 'POST', path: `${root}/write`, headers },
      { method: 'POST', path: `${root}/write`, headers: { ...headers, ...FOREIGN } },
    ])
      expect(await rawRequest(bearerServer, request)).toMatchObject({ status: 200, reason: null })
  })

  test.each([
    { where: 'the connection parameter', headers: FOREIGN, parameter: true },
    { where: 'the Authorization header of the upgrade', headers: {}, parameter: false },
  ])('accepts $where of a WebSocket', async ({ headers, parameter }) => {
    const session = await bearerServer.auth.signIn()
    const client = connectWebSocket(bearerServer, {
      headers: parameter ? headers : { ...headers, ...authorization(session) },
      ...(parameter && { connectionParams: { token: session.token } }),
    })
    expect(await client.me.query()).toBe(session.userId)
    expect(await client.write.mutate()).toBe('written')
  })

  test('ignores the cookies of the same request', async () => {
    const [ada, grace] = [await bearerServer.auth.signIn(), await bearerServer.auth.signIn()]
    const both = { ...authorization(grace), cookie: ada.cookie, origin: ORIGIN }
    expect(await callerFor(bearerServer, { headers: both }).me()).toBe(grace.userId)
    const client = connectWebSocket(bearerServer, {
      headers: browser(ada).headers,
      connectionParams: { token: grace.token },
    })
    expect(await client.me.query()).toBe(grace.userId)
    const broken = { authorization: 'Bearer nonsense', cookie: ada.cookie, origin: ORIGIN }
    expect(await reasonOf(callerFor(bearerServer, { headers: broken }).me())).toBe('TOKEN_INVALID')
  })

  test('accepts a WebSocket from a foreign origin, without its cookies', async () => {
    const { cookie } = await bearerServer.auth.signIn()
    const client = connectWebSocket(bearerServer, { headers: { cookie, ...FOREIGN } })
    expect(await client.health.query()).toBe('ok')
    expect(await reasonOf(client.me.query())).toBe('TOKEN_MISSING')
    expect(await client.whoami.query()).toBeNull()
  })

  test('reads the cookies of a WebSocket from our own origin', async () => {
    const session = await bearerServer.auth.signIn()
    expect(await connectWebSocket(bearerServer, browser(session)).me.query()).toBe(session.userId)
  })

  test('still rejects an HTTP request of a foreign origin with cookies only', async () => {
    const { cookie } = await bearerServer.auth.signIn()
    const answer = await rawRequest(bearerServer, { path: '/trpc/me', headers: { cookie, ...FOREIGN } })
    expect(answer).toMatchObject({ status: 403, reason: 'ORIGIN_REJECTED' })
  })

  test('never takes a token from a URL', async () => {
    const { token } = await bearerServer.auth.signIn()
    const outcome = await ask(
      bearerServer,
      { headers: {}, connectionParams: { token } },
      'httpSubscriptionLink over node',
    )
    expect(outcome.rejection?.auth?.reason).toBe('TOKEN_MISSING')
  })

  test('is ignored if it is disabled', async () => {
    const session = await server.auth.signIn()
    const answer = await rawRequest(server, { path: '/trpc/me', headers: authorization(session) })
    expect(answer).toMatchObject({ status: 401, reason: 'TOKEN_MISSING' })
    const client = connectWebSocket(server, {
      headers: { origin: ORIGIN },
      connectionParams: { token: session.token },
    })
    expect(await reasonOf(client.me.query())).toBe('TOKEN_MISSING')
  })
})

describe('createAuthContext', () => {
  test.each(Object.entries(PATHS))(
    'two cookies of one name: COOKIE_CONFLICT, %s adapter',
    async (_adapter, root) => {
      const { cookie } = await server.auth.signIn()
      const headers = { cookie: `${cookie}; ${cookie}`, origin: ORIGIN }
      expect(await rawRequest(server, { path: `${root}/me`, headers })).toMatchObject({
        status: 401,
        reason: 'COOKIE_CONFLICT',
      })
      expect(await reasonOf(connectWebSocket(server, { headers }).me.query())).toBe('COOKIE_CONFLICT')
      expect(await reasonOf(connectWebSocket(server, { headers }).whoami.query())).toBe('COOKIE_CONFLICT')
    },
  )

  test('accepts the headers of fetch and of Node', async () => {
    const { cookie, userId } = await server.auth.signIn()
    for (const headers of [new Headers({ cookie }), { cookie }]) {
      const { auth } = createAuthContext(server.config).headers(headers)
      const { session } = await auth[authRequest].authenticate(server.db[authStore], 'query')
      expect(session.userId).toBe(userId)
    }
  })
})

const socket = { readyState: 1, send() {}, close() {}, on() {} }

describe('the handle of a request', () => {
  const http = { headers: {}, type: 'query', accept: null } as const
  test.each([
    { request: http, expected: { kind: 'query', isGet: true, setsHeaders: true, carriesStreams: false } },
    {
      request: { ...http, method: 'HEAD' },
      expected: { kind: 'query', isGet: true, setsHeaders: true, carriesStreams: false },
    },
    {
      request: { ...http, method: 'POST', type: 'mutation' },
      expected: { kind: 'mutation', isGet: false, setsHeaders: true, carriesStreams: false },
    },
    {
      request: { ...http, type: 'unknown' },
      expected: { kind: 'mutation', isGet: true, setsHeaders: true, carriesStreams: false },
    },
    {
      request: { ...http, type: 'subscription' },
      expected: { kind: 'subscription', isGet: true, setsHeaders: false, carriesStreams: false },
    },
    {
      request: { ...http, accept: 'application/jsonl' },
      expected: { kind: 'query', isGet: true, setsHeaders: false, carriesStreams: true },
    },
  ] as const)('over HTTP, of $request', ({ request: { type, accept, ...req }, expected }) => {
    const { auth } = createAuthContext(server.config).http({ req, info: { type, accept } })
    const { kind, isGet, carriesStreams, transport, request } = auth[authRequest]
    expect({ kind, isGet, carriesStreams, setsHeaders: request.setsHeaders }).toEqual(expected)
    expect(transport).toBe('http')
  })

  test('over WebSocket, of an upgrade', () => {
    const { auth } = createAuthContext(server.config).ws({
      req: { headers: {} },
      info: { connectionParams: null },
    })
    expect(auth[authRequest]).toMatchObject({
      transport: 'ws',
      kind: 'upgrade',
      isGet: false,
      carriesStreams: false,
      request: { method: 'GET', setsHeaders: false },
    })
  })

  test.each([
    { options: undefined, method: 'GET', kind: 'query' },
    { options: { method: 'GET' }, method: 'GET', kind: 'query' },
    { options: { method: 'POST' }, method: 'POST', kind: 'mutation' },
  ])('of the own code, with $options', ({ options, method, kind }) => {
    const { auth } = createAuthContext(server.config).headers({}, options)
    expect(auth[authRequest]).toMatchObject({
      transport: 'headers',
      kind,
      isGet: false,
      carriesStreams: true,
      request: { method, setsHeaders: false },
    })
  })

  test.each([
    { response: 'a WebSocket', res: socket, transport: 'ws' },
    { response: 'one that can close', res: { close() {} }, transport: 'http' },
    { response: 'one with a state', res: { readyState: 1 }, transport: 'http' },
    { response: 'null', res: null, transport: 'http' },
    { response: 'a text', res: 'readyState, close', transport: 'http' },
    { response: 'none', res: undefined, transport: 'http' },
  ])('that detects the transport by the response: $response', ({ res, transport }) => {
    const info = { type: 'query', accept: null, connectionParams: null } as const
    const { auth } = createAuthContext(server.config).request({ req: { headers: {} }, info, res })
    expect(auth.transport).toBe(transport)
  })
})

describe('a WebSocket handshake', () => {
  const isReady = { ready: () => Promise.resolve(), readToken: () => 'proved', verify: vi.fn() }
  const immediate = { readToken: () => 'proved', verify: vi.fn() }
  const failed = { ...isReady, ready: () => Promise.reject(new Error('not ready')) }
  const cookies = { cookie: 'a=1', origin: ORIGIN }

  test.each([
    { credentials: 'the cookie of a session', keys: 1, sessions: 1 },
    { credentials: 'the cookie of a session', db: false, keys: 1, sessions: 0 },
    { credentials: 'no cookie', headers: { origin: ORIGIN }, keys: 0, sessions: 0 },
    { credentials: 'a cookie of another app', headers: cookies, keys: 0, sessions: 0 },
  ])('with $credentials starts $keys checks of Step 1, and $sessions of Step 2', async (row) => {
    const headers = row.headers ?? browser(await server.auth.signIn()).headers
    const options = row.db === false ? {} : { db: server.db }
    const info = { connectionParams: null }
    createAuthContext(server.config, options).ws({ req: { headers }, info, res: socket })
    await soon(() =>
      expect([server.keys.lookups, server.auth.lookups.count]).toEqual([row.keys, row.sessions]),
    )
  })

  test.each([
    { state: 'is ready', proof: isReady, headers: cookies, calls: 1 },
    { state: 'is ready', proof: isReady, headers: { authorization: 'Bearer x', origin: ORIGIN }, calls: 1 },
    { state: 'is ready', proof: isReady, headers: { origin: ORIGIN }, calls: 0 },
    { state: 'is ready, which this one always is', proof: immediate, headers: cookies, calls: 1 },
    { state: 'is never ready', proof: failed, headers: cookies, calls: 0 },
  ])('waits until the proof of another library $state: $calls checks of $headers', async (row) => {
    const { proof, headers, calls } = row
    proof.verify.mockReset().mockRejectedValue(new Error('unknown'))
    const config = { ...server.config, proof, onFailure() {} }
    createAuthContext(config).ws({ req: { headers }, info: { connectionParams: null } })
    await new Promise((resolve) => setImmediate(resolve))
    expect(proof.verify).toHaveBeenCalledTimes(calls)
  })
})

test.each([
  { sent: 'no cookie', cookie: () => [], denials: [] },
  { sent: 'a cookie of another app', cookie: () => ['a=1'], denials: [] },
  { sent: 'two cookies of one name', cookie: (own: string) => [own, own], denials: [] },
  { sent: 'an invalid cookie', cookie: () => ['service.jwt=x'], denials: ['TOKEN_INVALID'] },
])('a WebSocket handshake with $sent reports $denials, and leaves the rest to guards', async (row) => {
  const onEvent = vi.fn()
  const headers = { origin: ORIGIN, cookie: row.cookie((await server.auth.signIn()).cookie).join('; ') }
  const config = { ...server.config, onEvent }
  createAuthContext(config).ws({ req: { headers }, info: { connectionParams: null } })
  // Long enough for the event of an invalid cookie.
  const invalid = { ...headers, cookie: 'service.jwt=x' }
  createAuthContext(config).ws({ req: { headers: invalid }, info: { connectionParams: null } })
  const reasons = () => onEvent.mock.calls.map(([{ reason }]) => reason)
  await soon(() => expect(reasons()).toHaveLength(row.denials.length + 1))
  expect(reasons()).toEqual([...row.denials, 'TOKEN_INVALID'])
})

describe('ctx.auth.address', () => {
  /** Returns the address that each transport derives from one connection. */
  function addressesOf(config: AuthConfig, remoteAddress: string | undefined, forwardedFor: string | null) {
    const { http, ws, headers } = createAuthContext(config)
    const sent: Record<string, string> = forwardedFor === null ? {} : { 'x-forwarded-for': forwardedFor }
    const socket = remoteAddress === undefined ? {} : { remoteAddress }
    const info = { type: 'query', accept: null } as const
    const contexts = {
      node: http({ req: { headers: sent, socket }, info }),
      fetch: http({ req: new Request('http://localhost', { headers: sent }), info, remoteAddress }),
      ws: ws({ req: { headers: sent, socket }, info: { connectionParams: null } }),
      headers: headers(new Headers(sent), socket),
    }
    return Object.fromEntries(Object.entries(contexts).map(([name, { auth }]) => [name, auth.address()]))
  }

  test.each([
    { remote: '192.0.2.1', forwardedFor: null, address: '192.0.2.1' },
    { remote: '::ffff:192.0.2.1', forwardedFor: null, address: '192.0.2.1' },
    { remote: '2001:DB8:0:0::1', forwardedFor: null, address: '2001:db8::1' },
    { remote: '192.0.2.1', forwardedFor: '192.0.2.9', address: '192.0.2.1' },
    { remote: '10.0.0.1', forwardedFor: null, address: '10.0.0.1' },
    { remote: '10.0.0.1', forwardedFor: '192.0.2.9', address: '192.0.2.9' },
    { remote: '10.0.0.1', forwardedFor: 'made up, 192.0.2.9', address: '192.0.2.9' },
    { remote: '10.0.0.1', forwardedFor: '192.0.2.66, 192.0.2.9', address: '192.0.2.9' },
    { remote: '10.0.0.1', forwardedFor: '192.0.2.9, 10.0.0.2', address: '192.0.2.9' },
    { remote: 'fd00::1', forwardedFor: '2001:db8::9', address: '2001:db8::9' },
    { remote: '10.0.0.1', forwardedFor: '192.0.2.9:5678', address: '192.0.2.9' },
    { remote: 'fd00::1', forwardedFor: '[2001:db8::9]:5678', address: '2001:db8::9' },
    { remote: '10.0.0.1', forwardedFor: 'somewhere', address: null },
    { remote: undefined, forwardedFor: null, address: null },
    { remote: undefined, forwardedFor: '192.0.2.9', address: null },
    { remote: 'somewhere', forwardedFor: null, address: null },
  ])('is $address for $remote with X-Forwarded-For $forwardedFor', ({ remote, forwardedFor, address }) => {
    const config = { ...server.config, trustedProxies: ['10.0.0.0/8', 'fd00::/8'] }
    const expected = { node: address, fetch: address, ws: address, headers: address }
    expect(addressesOf(config, remote, forwardedFor)).toEqual(expected)
  })

  test('an invalid trusted proxy is reported at startup', () => {
    const config = { ...server.config, trustedProxies: ['the load balancer'] }
    expect(() => createAuthContext(config)).toThrow(
      expect.objectContaining({
        name: 'ConfigurationError',
        message: expect.stringMatching(/^trustedProxies: /),
      }),
    )
  })

  test("the app's value takes precedence over the request's socket", () => {
    const { auth } = createAuthContext(server.config).http({
      req: { headers: {}, socket: { remoteAddress: '192.0.2.1' } },
      remoteAddress: '192.0.2.2',
      info: { type: 'query', accept: null },
    })
    expect(auth.address()).toBe('192.0.2.2')
  })
})

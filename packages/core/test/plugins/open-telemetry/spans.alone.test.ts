import { context, DiagLogLevel, diag, metrics, SpanStatusCode, trace } from '@opentelemetry/api'
import { authenticate, defineAuthConfig, dynamicJwks, type SessionReader } from '@sallyport/core'
import { createAuth } from '@sallyport/core/auth'
import { openTelemetry } from '@sallyport/core/plugins/open-telemetry'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { collectTelemetry } from '../../support/collect-telemetry.ts'
import { reasonOf } from '../../support/reason-of.ts'
import { get, post } from '../../support/requests.ts'

const auth = await createTestAuth({ telemetry: openTelemetry() })
afterAll(() => auth.close())
const { config } = auth
const down: SessionReader = {
  meter: { system: 'postgresql', telemetry: undefined },
  findSession: () => Promise.reject(Object.assign(new Error('down'), { code: '53300' })),
}

function callBothSteps(cookie: string | null, sessions: SessionReader = auth.lookups.sessions) {
  const request = { method: 'GET', header: (name: string) => (name === 'cookie' ? cookie : null) }
  return authenticate(request, 'query', { config, sessions })
}

const signedIn = (session: TestSession) => ({ cookie: session.cookie })
const LOOKUP = {
  'db.system.name': 'sqlite',
  'db.operation.name': 'SELECT',
  'db.query.summary': 'SELECT session user',
}

describe('both steps', () => {
  test('have spans, and only the first call with a token verifies its signature', async () => {
    const { spans } = collectTelemetry()
    const { cookie } = await auth.signIn()
    await callBothSteps(cookie)
    await callBothSteps(cookie)
    const root = { parent: null, isError: false }
    const step2 = { ...root, name: 'sallyport.step2', kind: 'CLIENT', attributes: LOOKUP }
    const step1 = { ...root, name: 'sallyport.step1', kind: 'INTERNAL' }
    expect(spans()).toEqual([
      { ...step1, attributes: { 'sallyport.cached': false } },
      step2,
      { ...step1, attributes: { 'sallyport.cached': true } },
      step2,
    ])
  })

  const rejection = (reason: string) => ({ isError: false, attributes: { 'sallyport.reason': reason } })
  test.each([
    ['without a token', async () => null, { name: 'sallyport.step1', ...rejection('TOKEN_MISSING') }],
    [
      'with an expired token',
      async () => (await auth.expireJwt(await auth.signIn())).cookie,
      { name: 'sallyport.step1', ...rejection('TOKEN_EXPIRED') },
    ],
    [
      'of a revoked session',
      async () => {
        const session = await auth.signIn()
        await auth.revoke(session)
        return session.cookie
      },
      { name: 'sallyport.step2', ...rejection('SESSION_NOT_FOUND') },
    ],
  ])('%s, the rejection is in the span and no error', async (_name, cookieOf, expected) => {
    const cookie = await cookieOf()
    const { spans } = collectTelemetry()
    await reasonOf(callBothSteps(cookie))
    const span = spans().at(-1)
    expect(span).toMatchObject(expected)
    expect(span?.attributes).not.toHaveProperty('error.type')
  })

  test('a lookup that fails is an error with the code of the failure', async () => {
    const { cookie } = await auth.signIn()
    const { spans, exported } = collectTelemetry()
    expect(await reasonOf(callBothSteps(cookie, down))).toBe('SESSIONS_UNAVAILABLE')
    const attributes = { 'sallyport.reason': 'SESSIONS_UNAVAILABLE', 'error.type': 'POOL_EXHAUSTED' }
    expect(spans().at(-1)).toMatchObject({ name: 'sallyport.step2', isError: true, attributes })
    expect(exported().at(-1)?.status).toEqual({ code: SpanStatusCode.ERROR })
  })

  test('keys that cannot be fetched are an error of Step 1', async () => {
    const fetch = () => Promise.reject(new Error('down'))
    const jwks = dynamicJwks('https://keys.example/jwks', { fetch })
    const telemetry = openTelemetry()
    const options = { baseUrl: config.baseUrl, jwks, telemetry, onFailure() {}, now: auth.clock.now }
    const { cookie } = await auth.signIn()
    const { spans } = collectTelemetry()
    const request = { method: 'GET', header: (name: string) => (name === 'cookie' ? cookie : null) }
    const steps = { config: defineAuthConfig(options), sessions: auth.lookups.sessions }
    expect(await reasonOf(authenticate(request, 'query', steps))).toBe('KEYS_UNAVAILABLE')
    const attributes = { 'sallyport.reason': 'KEYS_UNAVAILABLE', 'error.type': 'KEYS_UNAVAILABLE' }
    expect(spans()).toMatchObject([{ name: 'sallyport.step1', isError: true, attributes }])
  })

  test('spans of callers whose lookups run in one batch have the parent of their caller', async () => {
    const sessions = await Promise.all(Array.from({ length: 8 }, () => auth.signIn()))
    const { spans } = collectTelemetry()
    const tracer = trace.getTracer('app')
    const call = ({ cookie }: TestSession, index: number) =>
      tracer.startActiveSpan(`caller ${index}`, async (span) => {
        // Two rounds, so the store expects several lookups in a turn.
        for (let round = 0; round < 2; round++) {
          await callBothSteps(cookie)
          await new Promise(setImmediate)
        }
        span.end()
      })
    await Promise.all(sessions.map(call))
    const parents = spans()
      .filter(({ name }) => name === 'sallyport.step2')
      .map(({ parent }) => parent)
    const expected = sessions.flatMap((_, index) => [`caller ${index}`, `caller ${index}`])
    expect(parents.toSorted()).toEqual(expected.toSorted())
  })

  test('the lookup runs under the span, so spans of a database driver are its children', async () => {
    const { cookie } = await auth.signIn()
    const { spans } = collectTelemetry()
    const { findSession } = auth.lookups.sessions
    const sessions: SessionReader = {
      findSession(key) {
        trace.getTracer('driver').startSpan('statement').end()
        return findSession(key)
      },
    }
    await callBothSteps(cookie, sessions)
    expect(spans()).toContainEqual(expect.objectContaining({ name: 'statement', parent: 'sallyport.step2' }))
    // A store that isn't ours may have no database.
    expect(spans()).toContainEqual(expect.objectContaining({ name: 'sallyport.step2', kind: 'INTERNAL' }))
  })
})

test('a read in the background is outside the trace of the call whose timer began it', async () => {
  const { spans } = collectTelemetry()
  await trace.getTracer('http').startActiveSpan('GET', async (span) => {
    await openTelemetry().background.trace({ name: 'step2', system: undefined }, async () =>
      trace.getTracer('driver').startSpan('statement').end(),
    )
    span.end()
  })
  expect(spans()).toMatchObject([{ name: 'statement', parent: null }, { name: 'GET' }])
})

test('a database that a call opens is outside the trace of the call', async () => {
  const { spans } = collectTelemetry()
  const tracer = trace.getTracer('driver')
  const lazy = createAuth(auth.definition, () => {
    tracer.startSpan('open').end()
    return openSqlite(':memory:')
  })
  onTestFinished(lazy.close)
  await tracer.startActiveSpan('GET', async (span) => {
    await lazy.ready()
    span.end()
  })
  expect(spans()).toMatchObject([{ name: 'open', parent: null }, { name: 'GET' }])
})

describe('endpoints', () => {
  const http = (method: string, path: string, status: number) => ({
    'http.request.method': method,
    'http.route': path,
    'http.response.status_code': status,
    'url.path': path,
    'url.scheme': 'http',
  })

  test('without another span, the span of an endpoint is the server span', async () => {
    const session = await auth.signIn()
    const { spans } = collectTelemetry()
    await auth.handler(post('/sign-out', {}, { cookie: session.cookie, 'sec-fetch-site': 'same-origin' }))
    const path = '/api/auth/sign-out'
    const expected = {
      name: `POST ${path}`,
      kind: 'SERVER',
      parent: null,
      attributes: http('POST', path, 200),
    }
    expect(spans().at(-1)).toEqual({ ...expected, isError: false })
  })

  test('under the span of an HTTP instrumentation, it is internal', async () => {
    const session = await auth.signIn()
    const { spans } = collectTelemetry()
    await trace.getTracer('http').startActiveSpan('GET', async (span) => {
      await auth.handler(get('/session', signedIn(session)))
      span.end()
    })
    const parent = 'GET /api/auth/session'
    expect(spans().map(({ name, kind, parent }) => [name, kind, parent])).toEqual([
      ['sallyport.step1', 'INTERNAL', parent],
      ['sallyport.step2', 'CLIENT', parent],
      [parent, 'INTERNAL', 'GET'],
      ['GET', 'INTERNAL', null],
    ])
  })

  test('a refresh has its own span', async () => {
    const session = await auth.expireJwt(await auth.signIn())
    const { spans } = collectTelemetry()
    await auth.handler(get('/backend/token', signedIn(session)))
    const parent = 'GET /api/auth/backend/token'
    expect(spans()).toMatchObject([
      { name: 'sallyport.refresh', kind: 'INTERNAL', parent, attributes: {} },
      { name: parent, attributes: http('GET', '/api/auth/backend/token', 200) },
    ])
  })

  test('a refresh of a revoked session has the reason in both spans', async () => {
    const session = await auth.signIn()
    await auth.revoke(session)
    const { spans } = collectTelemetry()
    await auth.handler(get('/backend/token', signedIn(session)))
    const reason = { 'sallyport.reason': 'SESSION_NOT_FOUND' }
    const route = http('GET', '/api/auth/backend/token', 401)
    expect(spans()).toMatchObject([
      { name: 'sallyport.refresh', isError: false, attributes: reason },
      { isError: false, attributes: { ...route, ...reason } },
    ])
  })

  const unknown = new Request('http://localhost:3000/api/auth/some-secret', { method: 'POST' })
  test.each([
    [unknown, 'POST', { 'http.response.status_code': 404, 'sallyport.reason': 'NOT_FOUND' }],
    [
      new Request('http://localhost:3000/api/auth/some-secret', { method: 'PURGE' }),
      'HTTP',
      { 'http.request.method': '_OTHER', 'http.response.status_code': 404 },
    ],
    [get('/sign-out'), 'GET /api/auth/sign-out', { 'http.response.status_code': 405 }],
    [
      post('/sign-in/email', { email: 'ada@example.com', password: `${TEST_PASSWORD}!` }),
      'POST /api/auth/sign-in/email',
      { 'http.response.status_code': 401, 'sallyport.reason': 'INVALID_CREDENTIALS' },
    ],
  ])('a rejection has its status and reason: %#', async (request, name, attributes) => {
    const { spans } = collectTelemetry()
    await auth.handler(request.clone())
    expect(spans().at(-1)).toMatchObject({ name, attributes, isError: false })
    expect(JSON.stringify(spans())).not.toMatch(/some-secret|ada@example|correct horse/)
  })

  test('an endpoint that fails is an error', async () => {
    const session = await auth.signIn()
    const { spans } = collectTelemetry()
    vi.spyOn(auth.lookups.sessions, 'findToken').mockRejectedValueOnce(new Error('down'))
    vi.spyOn(console, 'error').mockImplementationOnce(() => {})
    await auth.handler(get('/backend/token', signedIn(session)))
    const attributes = { 'http.response.status_code': 503, 'error.type': 'DATABASE_UNAVAILABLE' }
    expect(spans()).toMatchObject([{ isError: true }, { isError: true, attributes }])
  })

  test('a call to auth.api is not recorded as an HTTP request', async () => {
    const session = await auth.signIn()
    const { spans } = collectTelemetry()
    await auth.api.getSession({ request: get('/session', signedIn(session)) })
    const attributes = { 'sallyport.endpoint': '/session' }
    expect(spans().at(-1)).toEqual({
      name: 'sallyport.api',
      kind: 'INTERNAL',
      parent: null,
      attributes,
      isError: false,
    })
  })
})

describe('the SDK', () => {
  test('may be registered after the first call', async () => {
    const { cookie } = await auth.signIn()
    await callBothSteps(cookie)
    const { spans, points } = collectTelemetry()
    await callBothSteps(cookie)
    expect(spans()).toHaveLength(2)
    expect(await points('sallyport.lookup.duration')).toMatchObject([{ value: 1 }])
  })

  test('may throw anywhere, and never changes a response', async () => {
    const fails = () => {
      throw new Error('SDK')
    }
    const broken = new Proxy({}, { get: () => fails })
    const halfBroken = new Proxy({}, { get: (_, name) => (name === 'spanContext' ? () => VALID : fails) })
    const session = await auth.signIn()
    const revoked = await auth.signIn()
    await auth.revoke(revoked)
    const log = vi.fn()
    diag.setLogger({ error: log, warn() {}, info() {}, debug() {}, verbose() {} }, DiagLogLevel.ERROR)
    onTestFinished(() => {
      trace.disable()
      metrics.disable()
      context.disable()
      diag.disable()
    })
    const tracers = [
      fails,
      () => broken,
      () => ({ startSpan: fails }),
      () => ({ startSpan: () => halfBroken }),
    ]
    for (const getTracer of tracers) {
      trace.setGlobalTracerProvider({ getTracer: getTracer as () => never })
      metrics.setGlobalMeterProvider({ getMeter: fails })
      context.setGlobalContextManager({
        active: fails,
        with: fails,
        bind: fails,
        enable: fails,
        disable() {
          return this
        },
      })
      expect((await callBothSteps(session.cookie)).session.id).toBe(session.sessionId)
      expect(await reasonOf(callBothSteps(revoked.cookie))).toBe('SESSION_NOT_FOUND')
      expect((await auth.handler(get('/session', signedIn(session)))).status).toBe(200)
      expect((await auth.handler(get('/backend/token', signedIn(session)))).status).toBe(200)
      expect((await auth.handler(get('/backend/token'))).status).toBe(401)
      expect(log).toHaveBeenCalled()
      trace.disable()
      metrics.disable()
      context.disable()
    }
  })
})

const VALID = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 }

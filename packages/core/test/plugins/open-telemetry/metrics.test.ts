import { type Authenticated, authenticate, type FailureCode } from '@sallyport/core'
import { openTelemetry } from '@sallyport/core/plugins/open-telemetry'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { reportFailure } from '../../../src/events/report-failure.ts'
import { collectTelemetry } from '../../support/collect-telemetry.ts'
import { reasonOf } from '../../support/reason-of.ts'
import { get, post } from '../../support/requests.ts'

const onFailure = vi.fn()
const options = { telemetry: openTelemetry(), onFailure }
const limits = { account: { points: 3, duration: 900 }, address: { points: 6, duration: 900 } }
const auth = await createTestAuth({ ...options, emailPassword: { limits } })
afterAll(() => auth.close())
const { config } = auth

function callBothSteps(cookie: string | null): Promise<Authenticated> {
  const request = { method: 'GET', header: (name: string) => (name === 'cookie' ? cookie : null) }
  return authenticate(request, 'query', { config, sessions: auth.lookups.sessions })
}

describe('denials are counted by reason and step', () => {
  test.each([
    ['step1', 'TOKEN_MISSING', () => Promise.resolve(null)],
    ['step1', 'TOKEN_EXPIRED', async () => (await auth.expireJwt(await auth.signIn())).cookie],
    ['step1', 'TOKEN_INVALID', async () => `${config.cookies.jwt}=a.b.c`],
    ['step1', 'COOKIE_CONFLICT', async () => `${config.cookies.jwt}=a; ${config.cookies.jwt}=b`],
    ['step2', 'SESSION_NOT_FOUND', async () => after(auth.revoke)],
    ['step2', 'SESSION_EXPIRED', async () => after(auth.expireSession)],
    ['step2', 'ACCOUNT_BANNED', async () => after(auth.ban)],
  ] as const)('%s %s', async (step, reason, cookieOf) => {
    const cookie = await cookieOf()
    const { points } = collectTelemetry()
    for (let i = 0; i < 3; i++) expect(await reasonOf(callBothSteps(cookie))).toBe(reason)
    const attributes = { 'sallyport.reason': reason, 'sallyport.step': step }
    expect(await points('sallyport.denials')).toEqual([{ attributes, value: 3 }])
  })

  async function after(end: (session: TestSession) => Promise<void>): Promise<string> {
    const session = await auth.signIn()
    await end(session)
    return session.cookie
  }

  test('ROLE_REQUIRED of an endpoint for admins', async () => {
    const { cookie } = await auth.signIn()
    const { points } = collectTelemetry()
    await auth.handler(get('/admin/list-users', { cookie }))
    const reason = { 'sallyport.reason': 'ROLE_REQUIRED' }
    expect(await points('sallyport.denials')).toMatchObject([{ attributes: reason, value: 1 }])
    const route = { 'http.route': '/api/auth/admin/list-users', ...reason }
    expect(await points('sallyport.endpoint.rejections')).toEqual([{ attributes: route, value: 1 }])
  })

  test('a check whose result the caller never gets is not a denial', async () => {
    const session = await auth.signIn()
    await auth.revoke(session)
    const { points } = collectTelemetry()
    const jwt = `${config.cookies.jwt}=${session.token}`
    expect((await auth.handler(get('/backend/token', { cookie: jwt }))).status).toBe(401)
    expect(await points('sallyport.denials')).toEqual([])
  })
})

describe('failures are counted by code', () => {
  const ALL: Readonly<Record<FailureCode, true>> = {
    DATABASE_UNAVAILABLE: true,
    DATABASE_READ_ONLY: true,
    DATABASE_FULL: true,
    DATABASE_LOCKED: true,
    DATABASE_TIMEOUT: true,
    DATABASE_FILE_REPLACED: true,
    POOL_EXHAUSTED: true,
    FEED_DOWN: true,
    KEYS_UNAVAILABLE: true,
    PROVIDER_UNAVAILABLE: true,
    KEY_FILE_INVALID: true,
    CLOCK_SKEW: true,
    BACKEND_UNAVAILABLE: true,
    PASSWORD_QUEUE_FULL: true,
    AFTER_RESPONSE_FAILED: true,
    EVENT_LISTENER_FAILED: true,
    CONFIGURATION_INVALID: true,
    INTERNAL_ERROR: true,
  }

  test('every failure, including those that onFailure suppresses', async () => {
    const { points } = collectTelemetry()
    const codes = Object.keys(ALL) as FailureCode[]
    onFailure.mockClear()
    for (const code of codes)
      for (let i = 0; i < 4; i++)
        reportFailure(new Error('down'), { code, path: 'all', step: 'background' }, config)
    expect(onFailure).toHaveBeenCalledTimes(codes.length)
    const attributes = (code: FailureCode) => ({ 'error.type': code, 'sallyport.step': 'background' })
    const expected = codes.map((code) => ({ attributes: attributes(code), value: 4 }))
    expect(await points('sallyport.failures')).toEqual(expected)
  })

  test('a 503 of an endpoint', async () => {
    const { cookie } = await auth.signIn()
    const { points } = collectTelemetry()
    const error = Object.assign(new Error('full'), { code: 'SQLITE_FULL' })
    vi.spyOn(auth.lookups.sessions, 'findToken').mockRejectedValueOnce(error)
    expect((await auth.handler(get('/backend/token', { cookie }))).status).toBe(503)
    const reason = { 'sallyport.reason': 'SESSIONS_UNAVAILABLE', 'sallyport.step': 'endpoint' }
    const attributes = { 'error.type': 'DATABASE_FULL', ...reason }
    expect(await points('sallyport.failures')).toEqual([{ attributes, value: 1 }])
  })

  test('a lookup that fails, whose time is recorded with the code', async () => {
    const { cookie } = await auth.signIn()
    const { points } = collectTelemetry()
    const error = Object.assign(new Error('full'), { code: 'SQLITE_FULL' })
    vi.spyOn(auth.lookups.sessions, 'findSession').mockRejectedValueOnce(error)
    expect(await reasonOf(callBothSteps(cookie))).toBe('SESSIONS_UNAVAILABLE')
    expect(await points('sallyport.lookup.duration')).toMatchObject([
      { attributes: { 'error.type': 'DATABASE_FULL' }, value: 1 },
    ])
  })

  test('an onEvent that throws', async () => {
    const onEvent = () => Promise.reject(new Error('down'))
    const other = await createTestAuth({ ...options, onEvent })
    onTestFinished(() => other.close())
    const { points } = collectTelemetry()
    await other.signIn()
    const attributes = { 'error.type': 'EVENT_LISTENER_FAILED', 'sallyport.step': 'background' }
    expect(await points('sallyport.failures')).toMatchObject([{ attributes }])
  })
})

describe('calls over a limit are counted by limit', () => {
  type Call = (session: TestSession, index: number) => Promise<Response>
  const signIn = (email: string) =>
    auth.handler(post('/sign-in/email', { email, password: TEST_PASSWORD.toUpperCase() }))
  const CALLS: Readonly<Record<string, { times: number; call: Call }>> = {
    'sign-in': { times: 5, call: () => signIn('eve@example.com') },
    address: { times: 8, call: (_session, index) => signIn(`${index}@example.com`) },
    confirm: {
      times: 5,
      call: ({ cookie }) => auth.handler(post('/reauthenticate', { password: 'wrong' }, { cookie })),
    },
    refresh: { times: 302, call: ({ cookie }) => auth.handler(get('/backend/token', { cookie })) },
    token: {
      times: 302,
      call({ sessionId }) {
        const cookie = `${config.cookies.session}=${sessionId}.${'b'.repeat(43)}`
        return auth.handler(get('/backend/token', { cookie }))
      },
    },
  }

  // All calls are in one window.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())

  test.each(Object.entries(CALLS))('%s', async (limit, { times, call }) => {
    const session = await auth.signIn()
    const { points } = collectTelemetry()
    const statuses: number[] = []
    for (let index = 0; index < times; index++) statuses.push((await call(session, index)).status)
    const rejected = statuses.filter((status) => status === 429).length
    expect(rejected).toBeGreaterThan(1)
    const attributes = { 'sallyport.limit': limit }
    expect(await points('sallyport.rate_limited')).toEqual([{ attributes, value: rejected }])
  })
})

test('no metric has the id of a user or a session', async () => {
  const session = await auth.signIn()
  const { points, units } = collectTelemetry()
  await callBothSteps(session.cookie)
  await auth.handler(get('/backend/token', { cookie: session.cookie }))
  await auth.revoke(session)
  await reasonOf(callBothSteps(session.cookie))
  const names = Object.keys(await units())
  expect(names).toContain('sallyport.denials')
  const all = JSON.stringify(await Promise.all(names.map(points)))
  expect(all).not.toContain(session.userId)
  expect(all).not.toContain(session.sessionId)
})

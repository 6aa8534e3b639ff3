import { authStore } from '@sallyport/core/internal/server'
import { createAuthContext, type DatabaseContext, getSession } from '@sallyport/trpc'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { authCall, authRequest, CallHandle } from '../../src/server/auth-handle.ts'
import { callerFor, connectHttp, connectWebSocket } from '../support/connect.ts'
import { outcomeOf, rejectionFor } from '../support/outcome.ts'
import { createCaller } from '../support/router.ts'
import { startServer } from '../support/start-server.ts'
import { browser, FOREIGN, type Visitor } from '../support/visitor.ts'

const server = await startServer()
afterEach(() => server.clear())
afterAll(() => server.close())

describe.each([
  {
    transport: 'httpLink',
    peek: (who: Visitor) => connectHttp(server, who, 'httpLink over node').client.peek.query(),
  },
  { transport: 'wsLink', peek: (who: Visitor) => connectWebSocket(server, who).peek.query() },
  { transport: 'createCaller', peek: (who: Visitor) => callerFor(server, who).peek() },
])('getSession(ctx) in a public procedure over $transport', ({ peek }) => {
  test("returns the caller's session", async () => {
    const session = await server.auth.signIn()
    expect(await peek(browser(session))).toBe(session.sessionId)
    expect(server.auth.lookups.count).toBe(1)
  })

  test.each([
    { reason: 'TOKEN_MISSING', prepare: () => browser() },
    {
      reason: 'SESSION_NOT_FOUND',
      async prepare() {
        const session = await server.auth.signIn()
        await server.auth.revoke(session)
        return browser(session)
      },
    },
    {
      reason: 'ACCOUNT_BANNED',
      async prepare() {
        const session = await server.auth.signIn()
        await server.auth.ban(session)
        return browser(session)
      },
    },
    {
      reason: 'SESSIONS_UNAVAILABLE',
      async prepare() {
        server.store.answer = () => Promise.reject(new Error('down'))
        return browser(await server.auth.signIn())
      },
    },
  ] as const)(
    'throws $reason, which must not be replayed, since the resolver has started',
    async ({ reason, prepare }) => {
      const { rejection } = await outcomeOf(peek(await prepare()))
      expect(rejection).toEqual(rejectionFor(reason, { replay: false }))
      expect(server.stage.runs).toEqual(['peek'])
    },
  )
})

test('getSession(ctx) in a protected procedure notices a recent revocation', async () => {
  const { client } = connectHttp(server, browser(await server.auth.signIn()), 'httpLink over node')
  const { rejection } = await outcomeOf(client.recheck.query())
  expect(rejection).toEqual(rejectionFor('SESSION_NOT_FOUND', { replay: false }))
})

test('getSession(ctx) shares the lookup of its request', async () => {
  const { auth } = createAuthContext(server.config).headers(browser(await server.auth.signIn()).headers)
  for (let call = 0; call < 2; call++) await getSession({ auth, db: server.db })
  expect(server.auth.lookups.count).toBe(1)
})

test('getSession(ctx) looks the session up again in an action, where revocations may not be announced', async () => {
  const { auth } = createAuthContext(server.config).headers(browser(await server.auth.signIn()).headers)
  const { kind, isGet } = auth[authCall]
  const call = { kind, isGet, store: server.db[authStore] }
  const ctx = { auth: new CallHandle(auth[authRequest], call), db: server.db }
  for (let call = 0; call < 2; call++) await getSession(ctx)
  expect(server.auth.lookups.count).toBe(2)
})

test.each([
  { owns: 'the one of ctx.db', ownsStore: undefined, reason: 'SESSIONS_UNAVAILABLE' },
  { owns: 'the one of ctx.db', ownsStore: false, reason: 'SESSIONS_UNAVAILABLE' },
  { owns: 'that of its own guards', ownsStore: true, reason: null },
])('getSession(ctx) uses $owns if ownsStore is $ownsStore', async ({ ownsStore, reason }) => {
  const { headers } = browser(await server.auth.signIn())
  const options = { db: server.auth.db, ...(ownsStore !== undefined && { ownsStore }) }
  const { auth } = createAuthContext(server.config, options).headers(headers)
  server.store.answer = () => Promise.reject(new Error('down'))
  const { rejection } = await outcomeOf(getSession({ auth, db: server.db }))
  expect(rejection?.auth?.reason ?? null).toBe(reason)
})

test.each([
  { step: 'step1', fail: () => (server.keys.fault = new Error('down')), reason: 'KEYS_UNAVAILABLE' },
  {
    step: 'step2',
    fail: () => (server.store.answer = () => Promise.reject(new Error('down'))),
    reason: 'SESSIONS_UNAVAILABLE',
  },
] as const)('a failure in $step is reported once, with that step', async ({ step, fail, reason }) => {
  const { headers } = browser(await server.auth.signIn())
  const onFailure = vi.fn()
  const config = { ...server.config, onFailure }
  const { auth } = createAuthContext(config).headers(headers)
  fail()
  const caller = createCaller({ auth, db: server.db, stage: server.stage })
  for (const call of [getSession({ auth, db: server.db }), caller.me()]) {
    await expect(call).rejects.toMatchObject({ cause: { reason } })
  }
  expect(onFailure.mock.calls).toEqual([
    [expect.objectContaining({ path: null, step })],
    [expect.objectContaining({ path: 'me', step })],
  ])
})

test.each([
  { lack: 'no database', ctx: {}, fix: 'createContext' },
  { lack: 'a database without a store', ctx: { db: {} }, fix: 'withAuthStore' },
])('getSession(ctx) with $lack names the fix on the server', async ({ ctx, fix }) => {
  const { auth } = createAuthContext({ ...server.config, onFailure() {} }).headers({})
  const incomplete: object = { ...ctx, auth }
  await expect(getSession(incomplete as DatabaseContext)).rejects.toMatchObject({
    code: 'INTERNAL_SERVER_ERROR',
    cause: { name: 'ConfigurationError', message: expect.stringContaining(fix) },
  })
})

test('getSession(ctx) also checks the origin', async () => {
  const { cookie } = await server.auth.signIn()
  const { client } = connectHttp(server, { headers: { ...FOREIGN, cookie } }, 'httpLink over node')
  const { rejection } = await outcomeOf(client.peek.query())
  expect(rejection?.auth?.reason).toBe('ORIGIN_REJECTED')
})

test.each([
  { request: 'a GET for a page', context: { method: 'GET' }, reason: null },
  { request: "a form's POST", context: { method: 'POST' }, reason: 'ORIGIN_REJECTED' },
])('getSession(ctx) outside of tRPC checks the origin of $request: $reason', async ({ context, reason }) => {
  const { cookie } = await server.auth.signIn()
  const { auth } = createAuthContext(server.config).headers({ cookie }, context)
  const { rejection } = await outcomeOf(getSession({ auth, db: server.db }))
  expect(rejection?.auth?.reason ?? null).toBe(reason)
})

test('getSession(ctx) applies the strictest rule if tRPC found no procedure', async () => {
  const { cookie } = await server.auth.signIn()
  const { http } = createAuthContext(server.config)
  const { auth } = http({
    req: { method: 'GET', headers: { cookie } },
    info: { type: 'unknown', accept: null },
  })
  const { rejection } = await outcomeOf(getSession({ auth, db: server.db }))
  expect(rejection?.auth?.reason).toBe('ORIGIN_REJECTED')
})

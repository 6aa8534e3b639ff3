import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import {
  assertGuarded,
  createAuthContext,
  createSensitiveSessionMiddleware,
  type DatabaseContext,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { afterAll, afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { callEndpoint, withCookiesOf } from '../support/call-endpoint.ts'
import { callerFor, connectHttp, connectWebSocket, type HttpPath } from '../support/connect.ts'
import { type Outcome, outcomeOf, rejectionFor } from '../support/outcome.ts'
import { MAX_AGE } from '../support/router.ts'
import { startServer } from '../support/start-server.ts'
import { browser, type Visitor } from '../support/visitor.ts'

const server = await startServer()
afterEach(() => server.clear())
afterAll(() => server.close())

const HTTP = [
  'httpLink over node',
  'httpLink over fetch',
  'httpBatchLink over node',
  'httpBatchLink over fetch',
  'httpBatchStreamLink over node',
  'httpBatchStreamLink over fetch',
] as const satisfies readonly HttpPath[]

/** Every way to call `payment`. */
const PAYMENTS: { transport: string; pay: (visitor: Visitor) => Promise<Outcome> }[] = [
  ...HTTP.map((transport) => ({
    transport,
    pay: (visitor: Visitor) => outcomeOf(connectHttp(server, visitor, transport).client.payment.mutate()),
  })),
  { transport: 'wsLink', pay: (visitor) => outcomeOf(connectWebSocket(server, visitor).payment.mutate()) },
  { transport: 'createCaller', pay: (visitor) => outcomeOf(callerFor(server, visitor).balance()) },
]

const required = { factor: null, maxAgeSeconds: MAX_AGE }
const NOT_FRESH = rejectionFor('SESSION_NOT_FRESH', { replay: true, required })

/** Creates a browser that signed in this many seconds ago. */
async function signedInAgo(seconds: number): Promise<{ session: TestSession; visitor: Visitor }> {
  const session = await server.auth.signIn()
  server.auth.clock.advance(seconds)
  return { session, visitor: browser(session) }
}

/** Reauthenticates the user at the endpoint. */
const reauthenticate = (visitor: Visitor, password = TEST_PASSWORD) =>
  callEndpoint(server, visitor, { method: 'POST', path: '/reauthenticate', body: { password } })

describe(`createSensitiveSessionMiddleware({ maxAge: ${MAX_AGE} })`, () => {
  describe.each(PAYMENTS)('over $transport', ({ pay }) => {
    test.each([0, MAX_AGE - 1, MAX_AGE])('authorizes a user who signed in %i s ago', async (seconds) => {
      const { session, visitor } = await signedInAgo(seconds)
      expect(await pay(visitor)).toEqual({ data: session.sessionId, rejection: null })
    })

    test('rejects a user who signed in a second longer ago, before the resolver runs', async () => {
      const { visitor } = await signedInAgo(MAX_AGE + 1)
      expect((await pay(visitor)).rejection).toEqual(NOT_FRESH)
      expect(NOT_FRESH).toMatchObject({ code: 'FORBIDDEN', httpStatus: 403 })
      expect(server.stage.runs).toEqual([])
    })

    test('accepts them after they reauthenticate, with the same session', async () => {
      const { session, visitor } = await signedInAgo(MAX_AGE + 1)
      expect((await pay(visitor)).rejection).toEqual(NOT_FRESH)
      const confirmed = await reauthenticate(visitor)
      expect(confirmed.status).toBe(200)
      expect(await pay(withCookiesOf(confirmed, visitor))).toEqual({
        data: session.sessionId,
        rejection: null,
      })
      server.auth.clock.advance(MAX_AGE + 1)
      expect((await pay(withCookiesOf(confirmed, visitor))).rejection).toEqual(NOT_FRESH)
    })
  })

  test('is 403 over HTTP', async () => {
    const { visitor } = await signedInAgo(MAX_AGE + 1)
    for (const transport of ['httpLink over node', 'httpLink over fetch'] as const) {
      const { client, answers } = connectHttp(server, visitor, transport)
      await outcomeOf(client.payment.mutate())
      expect(answers[0]?.status).toBe(403)
      expect(answers[0]?.headers.get('retry-after')).toBeNull()
    }
  })

  test('rejects a connection that was open before the user reauthenticated, as it may use a copy', async () => {
    const { session, visitor } = await signedInAgo(0)
    const client = connectWebSocket(server, visitor)
    expect(await client.payment.mutate()).toBe(session.sessionId)
    server.auth.clock.advance(MAX_AGE + 1)
    expect((await outcomeOf(client.payment.mutate())).rejection).toEqual(NOT_FRESH)
    const proved = await reauthenticate(visitor)
    expect(proved.status).toBe(200)
    const { rejection } = await outcomeOf(client.payment.mutate())
    expect(rejection?.auth?.reason).toBe('TOKEN_INVALID')
    const fresh = connectWebSocket(server, withCookiesOf(proved, visitor))
    expect(await fresh.payment.mutate()).toBe(session.sessionId)
  })

  test('leaves other procedures unaffected, in the same batch too', async () => {
    const { session, visitor } = await signedInAgo(MAX_AGE + 1)
    const { client, answers } = connectHttp(server, visitor, 'httpBatchLink over node')
    const [me, secret, whoami, balance] = await Promise.all([
      client.me.query(),
      client.secret.query(),
      client.whoami.query(),
      outcomeOf(client.balance.query()),
    ])
    expect([me, secret, whoami]).toEqual([session.userId, session.sessionId, session.userId])
    expect(balance.rejection).toEqual(NOT_FRESH)
    expect(answers).toMatchObject([{ status: 207 }])
  })

  test('reads the session separately for each call', async () => {
    const { visitor } = await signedInAgo(0)
    const { client } = connectHttp(server, visitor, 'httpBatchLink over fetch')
    await Promise.all([client.me.query(), client.balance.query(), client.balance.query()])
    expect(server.auth.lookups.count).toBe(3)
  })

  test.each([0, -1, 1.5, Number.NaN])("can't be created with %d", (maxAge) => {
    expect(() => createSensitiveSessionMiddleware({ maxAge })).toThrow(
      expect.objectContaining({
        name: 'ConfigurationError',
        message: expect.stringContaining('maxAge must be a positive whole number'),
      }),
    )
  })

  test('can be created without a limit', () => {
    expect(() => createSensitiveSessionMiddleware({ maxAge: Number.POSITIVE_INFINITY })).not.toThrow()
  })

  test('is recognized as a guard', () => {
    const t = initTRPC.context<DatabaseContext>().create()
    const payment = t.procedure.use(createSensitiveSessionMiddleware({ maxAge: 60 })).mutation(() => 'paid')
    expect(() => assertGuarded(t.router({ payment }), { public: [] })).not.toThrow()
  })
})

test('without maxAge, session.freshForSeconds of the configuration decides', async () => {
  const auth = await createTestAuth({ session: { freshForSeconds: 60 } })
  onTestFinished(() => auth.close())
  const t = initTRPC.context<DatabaseContext>().create()
  const router = t.router({ pay: t.procedure.use(createSensitiveSessionMiddleware()).query(() => 'paid') })
  const { cookie } = await auth.signIn()
  const pay = () => {
    const context = { ...createAuthContext(auth.config).headers({ cookie }), db: auth.db }
    return outcomeOf(router.createCaller(context).pay())
  }
  auth.clock.advance(60)
  expect(await pay()).toEqual({ data: 'paid', rejection: null })
  auth.clock.advance(1)
  expect((await pay()).rejection?.auth?.reason).toBe('SESSION_NOT_FRESH')
})

describe('rejections take precedence over the request to reauthenticate', () => {
  test.each([
    { state: 'an anonymous caller', prepare: async () => browser(), reason: 'TOKEN_MISSING' },
    {
      state: 'a caller whose JWT has expired',
      prepare: async (session: TestSession) => browser(await server.auth.expireJwt(session)),
      reason: 'TOKEN_EXPIRED',
    },
    {
      state: 'a caller whose session was revoked',
      async prepare(session: TestSession) {
        await server.auth.revoke(session)
        return browser(session)
      },
      reason: 'SESSION_NOT_FOUND',
    },
    {
      state: 'a banned user',
      async prepare(session: TestSession) {
        await server.auth.ban(session)
        return browser(session)
      },
      reason: 'ACCOUNT_BANNED',
    },
    {
      state: 'any user, while the database is down',
      async prepare(session: TestSession) {
        server.store.answer = () => Promise.reject(new Error('down'))
        return browser(session)
      },
      reason: 'SESSIONS_UNAVAILABLE',
    },
  ] as const)('$state: $reason', async ({ prepare, reason }) => {
    const { session } = await signedInAgo(MAX_AGE + 1)
    const visitor = await prepare(session)
    expect((await outcomeOf(callerFor(server, visitor).balance())).rejection?.auth?.reason).toBe(reason)
  })
})

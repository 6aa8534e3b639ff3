import { createHash } from 'node:crypto'
import { type AuthConfig, AuthError, type RateLimitStore, type Reason, withAuthStore } from '@sallyport/core'
import { createAuthContext, type DatabaseContext, rateLimit } from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { authRequest } from '../../src/server/auth-handle.ts'
import {
  type Client,
  callerFor,
  connectHttp,
  connectWebSocket,
  type HttpPath,
  statusOn,
} from '../support/connect.ts'
import { type Outcome, outcomeOf, rejectionFor } from '../support/outcome.ts'
import { rawRequest } from '../support/raw-request.ts'
import { LIMIT } from '../support/router.ts'
import { callInOneFrame } from '../support/socket-frame.ts'
import { PATHS, startServer, type TestServer } from '../support/start-server.ts'
import { openStream } from '../support/stream.ts'
import { browser, ORIGIN, type Visitor } from '../support/visitor.ts'

const server = await startServer({ trustedProxies: ['loopback'] })
let now = Date.now()
beforeEach(() => {
  // Counts use the machine's clock, which is frozen here. This expires each test's counts before the next
  // test.
  now += 3_600_000
  vi.useFakeTimers({ toFake: ['Date'], now })
})
afterEach(async () => {
  vi.useRealTimers()
  await server.clear()
})
afterAll(() => server.close())

const reasonsOf = (outcomes: readonly Outcome[]): (Reason | null)[] =>
  outcomes.map(({ rejection }) => rejection?.auth?.reason ?? null)

const reasonOf = async (call: Promise<unknown>): Promise<Reason | null> =>
  reasonsOf([await outcomeOf(call)])[0] ?? null

/** Makes this many calls in sequence, and returns their reasons. */
async function inTurn(count: number, call: () => Promise<unknown>): Promise<(Reason | null)[]> {
  const reasons: (Reason | null)[] = []
  for (let i = 0; i < count; i++) reasons.push(await reasonOf(call()))
  return reasons
}

const letIn = (reasons: readonly (Reason | null)[]) => reasons.filter((reason) => reason === null).length

/** Uses up a limit. */
const exhaust = async (call: () => Promise<unknown>) => expect(letIn(await inTurn(3, call))).toBe(3)

const signIn = async (): Promise<Visitor> => browser(await server.auth.signIn())

let lastHost = 0
/** Returns an address that no other test uses. */
const newAddress = () => `198.51.100.${++lastHost}`

/** Creates an anonymous visitor whose address the trusted proxy reports. */
const from = (forwardedFor: string): Visitor => ({
  headers: { origin: ORIGIN, 'x-forwarded-for': forwardedFor },
})

const PLAIN = ['httpLink over node', 'httpLink over fetch'] as const satisfies readonly HttpPath[]
const BATCHES = [
  'httpBatchLink over node',
  'httpBatchLink over fetch',
  'httpBatchStreamLink over node',
  'httpBatchStreamLink over fetch',
] as const satisfies readonly HttpPath[]

/** The connections of clients to a server. */
const CONNECTIONS: { transport: string; connect: (visitor: Visitor, to?: TestServer) => Client }[] = [
  ...PLAIN.map((transport) => ({
    transport,
    connect: (visitor: Visitor, to = server) => connectHttp(to, visitor, transport).client,
  })),
  { transport: 'wsLink', connect: (visitor, to = server) => connectWebSocket(to, visitor) },
]

describe('counts', () => {
  test.each(BATCHES)('calls, not requests: five in one batch are five, over %s', async (transport) => {
    const { client, answers } = connectHttp(server, await signIn(), transport)
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, () => outcomeOf(client.limited.write.mutate())),
    )
    expect(answers).toHaveLength(1)
    expect(reasonsOf(outcomes)).toEqual([null, null, null, 'RATE_LIMITED', 'RATE_LIMITED'])
    expect(server.stage.runs).toEqual(Array(3).fill('limited.write'))
    expect(await reasonOf(client.limited.write.mutate())).toBe('RATE_LIMITED')
  })

  test('calls, not frames: five in one WebSocket message are five', async () => {
    const visitor = await signIn()
    const calls = Array(5).fill({ method: 'mutation', path: 'limited.write' })
    expect(letIn(await callInOneFrame(server, visitor, calls))).toBe(3)
    expect(server.stage.runs).toEqual(Array(3).fill('limited.write'))
    expect(await callInOneFrame(server, visitor, calls.slice(0, 1))).toEqual(['RATE_LIMITED'])
  })

  test('calls over all transports together', async () => {
    const visitor = await signIn()
    const reasons: (Reason | null)[] = []
    for (const { connect } of CONNECTIONS)
      reasons.push(await reasonOf(connect(visitor).limited.write.mutate()))
    expect(reasons).toEqual([null, null, null])
    expect(await reasonOf(callerFor(server, visitor).limited.write())).toBe('RATE_LIMITED')
  })

  test('calls of each procedure separately, even with the same limit', async () => {
    const client = connectWebSocket(server, await signIn())
    await exhaust(() => client.limited.write.mutate())
    expect(await reasonOf(client.limited.write.mutate())).toBe('RATE_LIMITED')
    await exhaust(() => client.limited.rewrite.mutate())
    expect(await reasonOf(client.limited.rewrite.mutate())).toBe('RATE_LIMITED')
    expect(await client.write.mutate()).toBe('written')
  })

  test('the start of a subscription, not its values', async () => {
    const client = connectWebSocket(server, await signIn())
    for (let i = 0; i < 3; i++) {
      const stream = openStream(client.limited.clock)
      expect((await stream.first).rejection).toBeNull()
      stream.unsubscribe()
    }
    expect((await openStream(client.limited.clock).ended)?.auth?.reason).toBe('RATE_LIMITED')
  })

  test('a call that its input parser rejects', async () => {
    const { client } = connectHttp(server, from(newAddress()), 'httpLink over node')
    const name = crypto.randomUUID()
    const wrong = JSON.parse(JSON.stringify({ name, text: 7 }))
    for (let i = 0; i < 3; i++)
      expect((await outcomeOf(client.limited.invite.mutate(wrong))).rejection?.code).toBe('BAD_REQUEST')
    expect(await reasonOf(client.limited.invite.mutate({ name }))).toBe('RATE_LIMITED')
  })

  test('no call that an earlier session middleware rejected', async () => {
    const session = await server.auth.signIn()
    const stranger = connectHttp(server, browser(), 'httpLink over node').client
    expect(await inTurn(4, () => stranger.limited.write.mutate())).toEqual(Array(4).fill('TOKEN_MISSING'))
    await exhaust(() => callerFor(server, browser(session)).limited.write())
  })

  test.each(Object.entries(PATHS))(
    "calls by the procedure's path, in any spelling of the URL, %s adapter",
    async (_adapter, root) => {
      const { headers } = await signIn()
      const paths = [
        '/limited.read',
        '/limited.read?batch=1&input={}',
        '/limited.read?n=1',
        '/limited%2eread',
        '/%6cimited.read?n=2',
        '/limited.read,health?batch=1',
      ]
      const reasons: (Reason | null)[] = []
      for (const path of paths)
        reasons.push((await rawRequest(server, { path: `${root}${path}`, headers })).reason)
      expect(reasons).toEqual([null, null, null, 'RATE_LIMITED', 'RATE_LIMITED', 'RATE_LIMITED'])
      expect(server.stage.runs).toEqual([...Array(3).fill('limited.read'), 'health'])
    },
  )

  test('from zero when the duration has passed since the first call, and not earlier', async () => {
    const caller = callerFor(server, await signIn())
    await exhaust(() => caller.limited.write())
    vi.setSystemTime(Date.now() + LIMIT.duration * 1000 - 1)
    expect(await reasonOf(caller.limited.write())).toBe('RATE_LIMITED')
    vi.setSystemTime(Date.now() + 1)
    await exhaust(() => caller.limited.write())
    expect(await reasonOf(caller.limited.write())).toBe('RATE_LIMITED')
  })
})

describe('by user', () => {
  test.each(['write', 'rewrite'] as const)(
    'counts all sessions of a user together, separately from other users, with limited.%s',
    async (path) => {
      const ada = await server.auth.signIn()
      const elsewhere = await server.auth.signIn({ userId: ada.userId })
      const browsers = [browser(ada), browser(elsewhere)].map((visitor) => connectWebSocket(server, visitor))
      const calls = [0, 1, 0, 1, 0].map((index) => browsers[index]?.limited[path].mutate())
      const outcomes = await Promise.all(calls.map((call) => outcomeOf(Promise.resolve(call))))
      expect(letIn(reasonsOf(outcomes))).toBe(3)
      await exhaust(() => connectWebSocket(server, browser(elsewhere)).limited.read.query())
      const grace = callerFor(server, await signIn())
      await exhaust(() => grace.limited[path]())
    },
  )

  test.each(['greet', 'welcome'] as const)(
    'counts a user by their id and an anonymous caller by their address after optionalSessionMiddleware, with limited.%s',
    async (path) => {
      const address = newAddress()
      const stranger = connectHttp(server, from(address), 'httpLink over node').client
      await exhaust(() => stranger.limited[path].query())
      expect(await reasonOf(stranger.limited[path].query())).toBe('RATE_LIMITED')
      const { cookie } = await server.auth.signIn()
      const visitor = { headers: { ...from(address).headers, cookie } }
      const user = connectHttp(server, visitor, 'httpLink over node').client
      await exhaust(() => user.limited[path].query())
      expect(await reasonOf(user.limited[path].query())).toBe('RATE_LIMITED')
    },
  )
})

describe('by address', () => {
  describe.each(CONNECTIONS)('over $transport', ({ connect }) => {
    test.each([
      { one: '192.0.2.1', other: '192.0.2.1', are: 'together' },
      { one: '192.0.2.7, 192.0.2.8', other: '192.0.2.7, 192.0.2.9', are: 'apart' },
    ])('$one and $other are counted $are', async ({ one, other, are }) => {
      await exhaust(() => connect(from(one)).limited.ping.query())
      const reasons = await inTurn(3, () => connect(from(other)).limited.ping.query())
      expect(letIn(reasons)).toBe(are === 'together' ? 0 : 3)
    })

    test('also counts a signed-in user if the limit says so', async () => {
      const address = newAddress()
      const visitor = async () => {
        const { cookie } = await server.auth.signIn()
        return { headers: { ...from(address).headers, cookie } }
      }
      const one = connect(await visitor())
      await exhaust(() => one.limited.upload.mutate())
      expect(await reasonOf(connect(await visitor()).limited.upload.mutate())).toBe('RATE_LIMITED')
    })
  })

  test('gives a /48 of IPv6 ten times the calls of a /64, from any /64', async () => {
    const ping = (address: string) =>
      reasonOf(connectHttp(server, from(address), 'httpLink over node').client.limited.ping.query())
    for (let i = 0; i < 30; i++) expect(await ping(`2001:db8:7:${i.toString(16)}::1`)).toBeNull()
    expect(await ping('2001:db8:7:ffff::1')).toBe('RATE_LIMITED')
    expect(await ping('2001:db8:8::1')).toBeNull()
  })
})

describe('by a function', () => {
  test.each(CONNECTIONS)(
    'counts calls of one name together, by any caller, over $transport',
    async ({ connect }) => {
      const [name, other] = [crypto.randomUUID(), crypto.randomUUID()]
      const visitors = [await signIn(), from(newAddress()), from(newAddress()), await signIn()]
      const reasons: (Reason | null)[] = []
      for (const visitor of visitors)
        reasons.push(await reasonOf(connect(visitor).limited.invite.mutate({ name })))
      expect(reasons).toEqual([null, null, null, 'RATE_LIMITED'])
      await exhaust(() => connect(from(newAddress())).limited.invite.mutate({ name: other }))
    },
  )

  test('counts each call of a batch by its own input', async () => {
    const [name, other] = [crypto.randomUUID(), crypto.randomUUID()]
    const { client } = connectHttp(server, from(newAddress()), 'httpBatchLink over fetch')
    const names = [name, name, other, name, name, other]
    const outcomes = await Promise.all(
      names.map((each) => outcomeOf(client.limited.invite.mutate({ name: each }))),
    )
    // They arrive together, so any of them may be the one over the limit.
    const rejected = names.filter((_name, index) => reasonsOf(outcomes)[index] !== null)
    expect(rejected).toEqual([name])
    expect(reasonsOf(outcomes).filter((reason) => reason !== null)).toEqual(['RATE_LIMITED'])
  })

  test('passes the call to the function', async () => {
    const t = initTRPC.context<DatabaseContext>().create()
    const by = vi.fn<(call: { ctx: object; path: string; input: unknown }) => string>(() => 'all')
    const router = t.router({
      notes: {
        add: t.procedure
          .use(rateLimit({ points: 1, duration: 60, by }))
          .mutation(({ ctx }) => ctx.auth[authRequest].kind),
      },
    })
    const ctx = { ...createAuthContext(server.config).headers({}), db: server.db }
    const caller = t.createCallerFactory(router)(ctx)
    // @ts-expect-error without a parser, the procedure takes no input
    expect(await caller.notes.add({ text: 'hello' })).toBe('query')
    expect(by).toHaveBeenCalledExactlyOnceWith({
      ctx: expect.objectContaining(ctx),
      path: 'notes.add',
      input: { text: 'hello' },
    })
  })
})

describe('a rejection', () => {
  test.each([...PLAIN, ...BATCHES])(
    'is 429 RATE_LIMITED with the time to wait, before the resolver runs, over %s',
    async (transport) => {
      const visitor = await signIn()
      await exhaust(() => callerFor(server, visitor).limited.read())
      vi.setSystemTime(Date.now() + 15_001)
      server.stage.runs.length = 0
      const { client, answers } = connectHttp(server, visitor, transport)
      const { rejection } = await outcomeOf(client.limited.read.query())
      expect(rejection).toEqual(rejectionFor('RATE_LIMITED', { replay: true, retryAfterSeconds: 45 }))
      expect(rejection).toMatchObject({ code: 'TOO_MANY_REQUESTS', httpStatus: 429 })
      expect(answers[0]?.status).toBe(statusOn(transport, 429))
      const isStream = transport.startsWith('httpBatchStreamLink')
      expect(answers[0]?.headers.get('retry-after')).toBe(isStream ? null : '45')
      expect(server.stage.runs).toEqual([])
    },
  )

  test('is the same over WebSocket and for a server-side caller', async () => {
    const visitor = await signIn()
    await exhaust(() => callerFor(server, visitor).limited.read())
    const expected = rejectionFor('RATE_LIMITED', { replay: true, retryAfterSeconds: 60 })
    const overSocket = connectWebSocket(server, visitor).limited.read.query()
    expect((await outcomeOf(overSocket)).rejection).toEqual(expected)
    expect((await outcomeOf(callerFor(server, visitor).limited.read())).rejection).toEqual(expected)
  })

  test('sets Retry-After to the longest wait in a batch of rejections, and not in a mixed one', async () => {
    const visitor = await signIn()
    const { client, answers } = connectHttp(server, visitor, 'httpBatchLink over node')
    await exhaust(() => client.limited.read.query())
    vi.setSystemTime(Date.now() + 30_000)
    await exhaust(() => client.limited.greet.query())
    answers.length = 0

    await Promise.all([outcomeOf(client.limited.read.query()), outcomeOf(client.limited.greet.query())])
    expect(answers[0]?.status).toBe(429)
    expect(answers[0]?.headers.get('retry-after')).toBe('60')

    await Promise.all([outcomeOf(client.limited.read.query()), client.me.query()])
    expect(answers[1]?.status).toBe(207)
    expect(answers[1]?.headers.get('retry-after')).toBeNull()
  })

  test("doesn't affect the rest of the batch", async () => {
    const session = await server.auth.signIn()
    const { client } = connectHttp(server, browser(session), 'httpBatchLink over fetch')
    await exhaust(() => client.limited.write.mutate())
    const [limited, me] = await Promise.all([outcomeOf(client.limited.write.mutate()), client.me.query()])
    expect(limited.rejection?.auth?.reason).toBe('RATE_LIMITED')
    expect(me).toBe(session.userId)
  })
})

describe("calls that can't be counted are 503 and don't run", () => {
  const faults: { fault: string; fail: () => Promise<never>; retryAfterSeconds: number }[] = [
    {
      fault: 'rejects with a custom error',
      fail: () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7:6379')),
      retryAfterSeconds: 1,
    },
    {
      fault: 'throws',
      fail: () => {
        throw new TypeError('not a function')
      },
      retryAfterSeconds: 1,
    },
    {
      fault: 'rejects with a tRPC error',
      fail: () => Promise.reject(new TRPCError({ code: 'UNAUTHORIZED' })),
      retryAfterSeconds: 1,
    },
    {
      fault: 'has a retry time',
      fail: () => Promise.reject(new AuthError('SESSIONS_UNAVAILABLE', { retryAfterSeconds: 9 })),
      retryAfterSeconds: 9,
    },
  ]

  describe.each(faults)('a store of counts that $fault', ({ fail, retryAfterSeconds }) => {
    test.each([...PLAIN, ...BATCHES])('over %s', async (transport) => {
      const { client, answers } = connectHttp(server, await signIn(), transport)
      server.limits.fault = fail
      const { rejection } = await outcomeOf(client.limited.read.query())
      expect(rejection).toEqual(rejectionFor('SESSIONS_UNAVAILABLE', { replay: true, retryAfterSeconds }))
      expect(answers[0]?.status).toBe(statusOn(transport, 503))
      expect(server.stage.runs).toEqual([])
    })

    test('over WebSocket', async () => {
      const client = connectWebSocket(server, await signIn())
      server.limits.fault = fail
      const { rejection } = await outcomeOf(client.limited.read.query())
      expect(rejection).toEqual(rejectionFor('SESSIONS_UNAVAILABLE', { replay: true, retryAfterSeconds }))
      server.limits.fault = null
      await exhaust(() => client.limited.read.query())
    })
  })
})

describe('a limit is reported', () => {
  const callWith = async (config: Partial<AuthConfig>) => {
    const { config: own, db, stage, auth } = server
    const caller = callerFor({ config: { ...own, ...config }, db, stage }, browser(await auth.signIn()))
    return async () => (await outcomeOf(caller.limited.read())).rejection?.auth?.reason
  }

  test('to telemetry by its kind, without the name of the user', async () => {
    const count = vi.fn<NonNullable<AuthConfig['telemetry']>['count']>()
    const telemetry: AuthConfig['telemetry'] & object = {
      trace: (_operation, work) => work(),
      count,
      record() {},
      detach: (work) => work(),
      open() {},
      get background() {
        return telemetry
      },
    }
    const call = await callWith({ telemetry })
    expect([await call(), await call(), await call(), await call()]).toEqual([
      undefined,
      undefined,
      undefined,
      'RATE_LIMITED',
    ])
    expect(count).toHaveBeenCalledWith('rateLimited', { limit: 'procedure:user' })
  })

  test('as a failure of the procedure if its store fails', async () => {
    const onFailure = vi.fn()
    const call = await callWith({ onFailure })
    server.limits.fault = () => Promise.reject(new Error('down'))
    expect(await call()).toBe('SESSIONS_UNAVAILABLE')
    expect(onFailure).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ path: 'limited.read', step: 'procedure' }),
    )
  })
})

describe('a wrong configuration is reported', () => {
  test.each([
    { setting: 'points', value: 0 },
    { setting: 'points', value: Number.NaN },
    { setting: 'points', value: Number.POSITIVE_INFINITY },
    { setting: 'points', value: undefined },
    { setting: 'duration', value: 0 },
    { setting: 'duration', value: Number.NaN },
    { setting: 'duration', value: Number.POSITIVE_INFINITY },
    // A timer's maximum; a larger one would fire at once and forget the count.
    { setting: 'duration', value: 2_147_484 },
    { setting: 'duration', value: undefined },
  ])('at startup, for the $setting $value', ({ setting, value }) => {
    expect(() => rateLimit({ ...LIMIT, [setting]: value })).toThrow(
      expect.objectContaining({
        name: 'ConfigurationError',
        message: expect.stringContaining(`rateLimit.${setting} must be a positive whole number`),
      }),
    )
  })

  const t = initTRPC.context<DatabaseContext>().create()
  const router = t.router({ ping: t.procedure.use(rateLimit(LIMIT)).query(() => 'pong') })

  test.each([
    { lack: 'without limits', limits: undefined },
    { lack: 'without a store', limits: null },
  ])('at the first call, for a ctx.db $lack', async ({ limits }) => {
    const { sessions, revocations } = server.auth.database
    const db = limits === null ? {} : withAuthStore({}, { sessions, revocations })
    const context = Object.assign(createAuthContext(server.config).headers({}), { db: server.db })
    const call = router.createCaller(Object.assign(context, { db })).ping()
    const error: unknown = await call.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(TRPCError)
    expect(error).toMatchObject({ code: 'INTERNAL_SERVER_ERROR', cause: { name: 'ConfigurationError' } })
  })

  test("at the first call, for by: 'user' without an earlier session middleware", async () => {
    const { client, answers } = connectHttp(server, await signIn(), 'httpLink over node')
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    const { rejection } = await outcomeOf(client.limited.misplaced.query())
    expect(rejection).toMatchObject({
      code: 'INTERNAL_SERVER_ERROR',
      message: 'Something went wrong',
      auth: null,
    })
    const message = "rateLimit: by: 'user' needs a session middleware before it"
    expect(logged.mock.calls).toEqual([[expect.any(String), expect.objectContaining({ message })]])
    expect(answers[0]?.status).toBe(500)
    expect(server.stage.runs).toEqual([])
  })
})

test("an app's store counts with the key of the procedure and of the caller, and the limit", async () => {
  const limits = { consume: vi.fn<RateLimitStore['consume']>(async () => null) }
  const { sessions, revocations } = server.auth.database
  const db = withAuthStore({}, { sessions, revocations, limits })
  const session = await server.auth.signIn()
  const { config, stage } = server
  const caller = (options: { remoteAddress?: string }) =>
    callerFor({ config, db, stage }, browser(session), options)
  await caller({}).limited.write()
  await caller({ remoteAddress: '2001:db8::5' }).limited.upload()
  await caller({ remoteAddress: '192.0.2.5' }).limited.ping()
  await caller({}).limited.ping()
  await caller({}).limited.invite({ name: 'ada' })
  expect(limits.consume.mock.calls).toEqual([
    [`procedure:limited.write:user:${session.userId}`, LIMIT],
    ['procedure:limited.upload:address:2001:db8::/64', LIMIT],
    [
      'procedure:limited.upload:address:2001:db8::/48',
      { points: LIMIT.points * 10, duration: LIMIT.duration },
    ],
    ['procedure:limited.ping:address:192.0.2.5', LIMIT],
    ['procedure:limited.ping:address:unknown', LIMIT],
    // The function's value can be any length and may be private, so the key has its hash.
    [`procedure:limited.invite:name:${createHash('sha256').update('ada').digest('hex')}`, LIMIT],
  ])
})

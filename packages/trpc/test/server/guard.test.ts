import { AuthError } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import {
  createAuthContext,
  type DatabaseContext,
  optionalSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { isGuard } from '../../src/server/guard.ts'
import { endStreams } from '../../src/server/stopping-streams.ts'
import { callerFor, connectHttp, connectWebSocket } from '../support/connect.ts'
import { outcomeOf, rejectionFor } from '../support/outcome.ts'
import { soon } from '../support/soon.ts'
import { startServer } from '../support/start-server.ts'
import { openStream } from '../support/stream.ts'
import {
  begin,
  expectEnd,
  type Open,
  overEvents,
  overJsonLines,
  overWebSocket,
  type Procedure,
} from '../support/streams.ts'
import { browser, type Visitor } from '../support/visitor.ts'

const server = await startServer({ sockets: 'unknown' })
afterEach(() => server.clear())
afterAll(() => server.close())

describe('no listener leaks', () => {
  test.each<{ stream: string; open: Open; values: string[]; code: string | undefined }>([
    { stream: 'completes, WebSocket', open: overWebSocket('short'), values: ['ready'], code: undefined },
    {
      stream: 'completes, events',
      open: overEvents('node', 'short'),
      values: ['ready'],
      code: undefined,
    },
    {
      stream: 'fails halfway, WebSocket',
      open: overWebSocket('fragile'),
      values: ['ready'],
      code: 'INTERNAL_SERVER_ERROR',
    },
    {
      stream: 'fails halfway, events',
      open: overEvents('fetch', 'fragile'),
      values: ['ready'],
      code: 'INTERNAL_SERVER_ERROR',
    },
    {
      stream: 'fails before it starts, WebSocket',
      open: overWebSocket('stillborn'),
      values: [],
      code: 'INTERNAL_SERVER_ERROR',
    },
    {
      stream: 'fails before it starts, events',
      open: overEvents('node', 'stillborn'),
      values: [],
      code: 'INTERNAL_SERVER_ERROR',
    },
  ])('from a stream that $stream', async ({ open, values, code }) => {
    const stream = await open(server, await server.auth.signIn())
    const rejection = await stream.ended
    expect(rejection?.code).toBe(code)
    expect(stream.values).toEqual(values)
    await soon(() => expect(server.feed.listeners).toBe(0))
  })

  test.each([
    { stream: 'a clock', open: overWebSocket('clock') },
    { stream: 'an observable', open: overWebSocket('observableClock') },
    { stream: 'a deaf source', open: overWebSocket('deaf') },
  ])('from $stream whose connection breaks', async ({ open }) => {
    await begin(server, open)
    for (const socket of server.sockets) socket.terminate()
    // Otherwise, they reconnect at once.
    for (const client of server.clients) client.close()
    await soon(() => expect(server.feed.listeners).toBe(0))
  })

  test('from a source that ignores its signal after the page was closed', async () => {
    const { stream } = await begin(server, overEvents('fetch', 'deaf'))
    stream.unsubscribe()
    await soon(() => expect(server.feed.listeners).toBe(0))
  })

  test('from a subscriber who leaves while the resolver prepares the stream', async () => {
    server.stage.closeGate()
    const stream = await overEvents('node', 'lateClock')(server, await server.auth.signIn())
    await soon(() => expect(server.stage.runs).toEqual(['lateClock']))
    stream.unsubscribe()
    server.stage.openGate()
    await soon(() => expect(server.feed.listeners).toBe(0))
  })

  test.each([
    {
      link: 'httpLink',
      connect: (visitor: Visitor) => connectHttp(server, visitor, 'httpLink over node').client,
    },
    {
      link: 'httpBatchLink',
      connect: (visitor: Visitor) => connectHttp(server, visitor, 'httpBatchLink over fetch').client,
    },
    { link: 'wsLink', connect: (visitor: Visitor) => connectWebSocket(server, visitor) },
  ])("from a streamed query that $link can't transport", async ({ connect }) => {
    const client = connect(browser(await server.auth.signIn()))
    const { rejection } = await outcomeOf(client.streamed.query())
    expect(rejection?.code).toBe('UNSUPPORTED_MEDIA_TYPE')
    expect((await outcomeOf(client.eager.query())).rejection?.code).toBe('UNSUPPORTED_MEDIA_TYPE')
    expect(server.stage.askForSignalLate()?.aborted).toBe(true)
    expect(server.feed.listeners).toBe(0)
  })

  test('from a streamed query that read its signal at once and was fully read', async () => {
    const { client } = connectHttp(
      server,
      browser(await server.auth.signIn()),
      'httpBatchStreamLink over node',
    )
    const values: boolean[] = []
    for await (const value of await client.eager.query()) values.push(value)
    expect(values).toEqual([false])
    await soon(() => expect(server.feed.listeners).toBe(0))
  })

  test('from queries and mutations, which never subscribe', async () => {
    const client = connectWebSocket(server, browser(await server.auth.signIn()))
    const before = server.feed.subscriptions
    await Promise.all([client.me.query(), client.write.mutate(), client.rotate.mutate()])
    await Promise.all([client.doublyGuarded.query(), client.whoami.query()])
    await Promise.all([outcomeOf(client.crash.query()), outcomeOf(client.missing.query())])
    expect(server.feed.subscriptions).toBe(before)
  })
})

describe('the signal of the session', () => {
  test('is released when the query that read it is done', async () => {
    const client = connectWebSocket(server, browser(await server.auth.signIn()))
    const before = server.feed.subscriptions
    expect(await client.glance.query()).toBe(false)
    expect(server.feed.subscriptions).toBe(before + 1)
    expect(server.feed.listeners).toBe(0)
  })

  test.each([
    { link: 'wsLink', connect: (visitor: Visitor) => connectWebSocket(server, visitor) },
    {
      link: 'httpBatchStreamLink',
      connect: (visitor: Visitor) => connectHttp(server, visitor, 'httpBatchStreamLink over node').client,
    },
  ])('is usable after the call, without another lease, over $link', async ({ connect }) => {
    const client = connect(browser(await server.auth.signIn()))
    await client.hasty.query()
    expect(server.stage.askForSignalLate()).toMatchObject({ aborted: false })
    expect(server.feed.listeners).toBe(0)
  })

  test('aborts when the session ends', async () => {
    const { session, stream } = await begin(server, overWebSocket('clock'))
    await server.auth.revoke(session)
    await stream.ended
    await soon(() => expect(server.stage.abortedAtCleanup).toEqual([true]))
  })

  test('aborts when the subscriber leaves', async () => {
    const { stream } = await begin(server, overEvents('node', 'clock'))
    stream.unsubscribe()
    await soon(() => expect(server.stage.abortedAtCleanup).toEqual([true]))
  })

  test('aborts when a reader leaves who waits for the next value, without a connection to close', async () => {
    const stream = await callerFor(server, browser(await server.auth.signIn())).clock()
    const reader = stream[Symbol.asyncIterator]()
    await reader.next()
    const next = reader.next()
    await reader.return?.()
    expect(await next).toEqual({ done: true, value: undefined })
    expect(server.stage.abortedAtCleanup).toEqual([true])
    expect(server.feed.listeners).toBe(0)
  })

  test('aborts in a running query when its WebSocket closes, and is released', async () => {
    const client = connectWebSocket(server, browser(await server.auth.signIn()))
    const waiting = client.waiting.query()
    waiting.catch(() => {})
    await soon(() => expect(server.stage.runs).toEqual(['waiting']))
    await soon(() => expect(server.feed.listeners).toBe(1))
    await server.clear()
    await soon(() => expect(server.feed.listeners).toBe(0))
  })

  test('aborts with the rejection in a running query, and is released when the query ends', async () => {
    const session = await server.auth.signIn()
    const client = connectWebSocket(server, browser(session))
    const waiting = client.waiting.query()
    await soon(() => expect(server.feed.listeners).toBe(1))
    await server.auth.ban(session)
    expect(await waiting).toBe('ACCOUNT_BANNED')
    expect(server.feed.listeners).toBe(0)
  })
})

test.each<{ source: string; open: Open }>([
  { source: 'an iterable', open: overWebSocket('orphaned') },
  { source: 'an iterable, over server-sent events', open: overEvents('node', 'orphaned') },
  { source: 'an observable', open: overWebSocket('orphanedObservable') },
])('a rejection by our own code from $source keeps its reason', async ({ open }) => {
  const { stream } = await begin(server, open)
  expect(await stream.ended).toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    httpStatus: 503,
    auth: { reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: 7, replay: false },
  })
})

test('a stream with an optional session ends with the session', async () => {
  const { session, stream } = await begin(server, overWebSocket('optionalClock'))
  await server.auth.revoke(session)
  expectEnd(await stream.ended, 'SESSION_NOT_FOUND')
})

test('the end of a stream leaves its connection open, and the next call on it is rejected', async () => {
  const session = await server.auth.signIn()
  const client = connectWebSocket(server, browser(session))
  const stream = openStream(client.clock)
  await stream.first
  await server.auth.revoke(session)
  await stream.ended
  const { rejection } = await outcomeOf(client.me.query())
  expect(rejection?.auth).toMatchObject({ reason: 'SESSION_NOT_FOUND', replay: true })
  expect(await client.health.query()).toBe('ok')
  expect(server.sockets.size).toBe(1)
})

test('the expiry of the JWT ends neither the connection nor its calls', async () => {
  const session = await server.auth.signIn()
  const client = connectWebSocket(server, browser(session))
  expect(await client.me.query()).toBe(session.userId)
  server.auth.clock.advance(16 * 60)
  expect(await client.me.query()).toBe(session.userId)
  expect(server.sockets.size).toBe(1)
})

test.each([
  ['a session middleware', sessionMiddleware, true],
  ['one of another copy of this package', markedFunction(), true],
  ['an optional session middleware', optionalSessionMiddleware, false],
  ['a function of the app', () => {}, false],
  ['an object with the mark of one', { [Symbol.for('sallyport.guard')]: true }, false],
  ['nothing', undefined, false],
])('whether a middleware requires a session: %s', (_name, middleware, expected) => {
  expect(isGuard(middleware)).toBe(expected)
})

function markedFunction() {
  return Object.assign(() => {}, { [Symbol.for('sallyport.guard')]: true })
}

test('an anonymous caller has no session, user, and identity', async () => {
  const t = initTRPC.context<DatabaseContext>().create()
  const router = t.router({
    members: t.procedure
      .use(optionalSessionMiddleware)
      .query(({ ctx: { identity, session, user } }) => ({ identity, session, user })),
  })
  const context = { ...createAuthContext(server.config).headers({}), db: server.db }
  expect(await router.createCaller(context).members()).toEqual({ identity: null, session: null, user: null })
})

describe('an error of a resolver', () => {
  const own = new TRPCError({ code: 'CONFLICT', cause: new AuthError('ROLE_REQUIRED') })
  test.each([
    ['a rejection by our own code', new AuthError('ROLE_REQUIRED'), 'FORBIDDEN', 0],
    ['a failure of our own code', new AuthError('SESSIONS_UNAVAILABLE'), 'SERVICE_UNAVAILABLE', 1],
    ['one whose code the app chose', own, 'CONFLICT', 0],
    ['one of the app', new TRPCError({ code: 'NOT_FOUND' }), 'NOT_FOUND', 0],
    ['a bug', new TypeError('a bug'), 'INTERNAL_SERVER_ERROR', 0],
  ])(
    'keeps its reason or code, and is reported if it is a failure: %s',
    async (_name, error, code, count) => {
      const t = initTRPC.context<DatabaseContext>().create()
      const fail = t.procedure.use(sessionMiddleware).query(() => {
        throw error
      })
      const onFailure = vi.fn()
      const { headers } = browser(await server.auth.signIn())
      const context = {
        ...createAuthContext({ ...server.config, onFailure }).headers(headers),
        db: server.db,
      }
      await expect(t.router({ fail }).createCaller(context).fail()).rejects.toMatchObject({ code })
      expect(onFailure).toHaveBeenCalledTimes(count)
      if (count > 0)
        expect(onFailure).toHaveBeenCalledWith(expect.objectContaining({ path: 'fail', step: 'procedure' }))
    },
  )
})

describe('when its server stops', () => {
  test.each<[string, Open, boolean]>([
    [
      'a subscription over server-sent events ends, since its client continues it',
      overEvents('node', 'clock'),
      true,
    ],
    ['a subscription over WebSocket stays: its socket is closed', overWebSocket('clock'), false],
    ['a streamed query stays', overJsonLines('node', 'streamed'), false],
  ])('%s', async (_name, open, ends) => {
    const stopping = await startServer()
    onTestFinished(async () => {
      await stopping.clear()
      await stopping.close()
    })
    const { stream } = await begin(stopping, open)
    endStreams(stopping.db[authStore].revocations)
    if (ends) expectEnd(await stream.ended, 'SESSIONS_UNAVAILABLE')
    else {
      stopping.stage.ticker.emit('tick', 'later')
      await soon(() => expect(stream.values).toEqual(['ready', 'later']))
    }
    stream.unsubscribe()
  })
})

describe('the place of a subscription on its socket', () => {
  async function connectLimited() {
    const limited = await startServer({ limits: { maxSubscriptions: 1 } })
    onTestFinished(async () => {
      await limited.clear()
      await limited.close()
    })
    const client = connectWebSocket(limited, browser(await limited.auth.signIn()))
    return { client, open: (procedure: Procedure) => openStream(client[procedure]) }
  }
  const LIMITED = rejectionFor('RATE_LIMITED', { replay: true, retryAfterSeconds: 5 })

  test('is taken until the subscription ends, and another one is rejected', async () => {
    const { client, open } = await connectLimited()
    const first = open('clock')
    await first.first
    expect(await open('clock').ended).toEqual(LIMITED)
    // Other calls need no place.
    expect(await client.me.query()).toEqual(expect.any(String))
    first.unsubscribe()
    await soon(async () => {
      const next = open('clock')
      expect((await next.first).rejection).toBeNull()
    })
  })

  test('is taken once by a call with several guards', async () => {
    const { open } = await connectLimited()
    const stream = open('doublyGuardedClock')
    expect((await stream.first).rejection).toBeNull()
  })

  test.each<Procedure>(['stillborn', 'short', 'fragile'])(
    'is released by a subscription that ends: %s',
    async (procedure) => {
      const { open } = await connectLimited()
      for (let turn = 0; turn < 3; turn++) {
        const rejection = await open(procedure).ended
        expect(rejection?.auth?.reason).not.toBe('RATE_LIMITED')
      }
    },
  )

  test("doesn't exist for a call of the own code", async () => {
    const { headers } = browser(await server.auth.signIn())
    const iterables = [0, 1].map(() => callerFor(server, { headers }).clock())
    for (const iterable of await Promise.all(iterables)) {
      const iterator = iterable[Symbol.asyncIterator]()
      expect((await iterator.next()).value).toBe('ready')
      await iterator.return?.()
    }
  })
})

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connectHttp, connectWebSocket } from '../support/connect.ts'
import { outcomeOf } from '../support/outcome.ts'
import { soon } from '../support/soon.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openStream } from '../support/stream.ts'
import { begin, expectEnd, type Open, overEvents, overWebSocket } from '../support/streams.ts'
import { browser, type Visitor } from '../support/visitor.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ sockets: 'unknown' })
})
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

  test('is usable after the call, without another lease', async () => {
    const client = connectWebSocket(server, browser(await server.auth.signIn()))
    await client.hasty.query()
    expect(server.stage.askForSignalLate()).toBeInstanceOf(AbortSignal)
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

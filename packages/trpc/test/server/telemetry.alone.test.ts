import { once } from 'node:events'
import { trace } from '@opentelemetry/api'
import { openTelemetry } from '@sallyport/core/plugins/open-telemetry'
import { createAuthContext, createHandler } from '@sallyport/trpc'
import { afterAll, afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { collectTelemetry } from '../../../core/test/support/collect-telemetry.ts'
import { until } from '../../../core/test/support/until.ts'
import { ask, callerFor, connectWebSocket } from '../support/connect.ts'
import { openLimitedApp } from '../support/limited-app.ts'
import { appRouter } from '../support/router.ts'
import { startServer } from '../support/start-server.ts'
import { openStream } from '../support/stream.ts'
import { begin, expectEnd, overEvents, overJsonLines, overWebSocket } from '../support/streams.ts'
import { browser } from '../support/visitor.ts'

const server = await startServer({ telemetry: openTelemetry(), onFailure() {} })
afterEach(() => server.clear())
afterAll(() => server.close())

const named = (spans: readonly { name: string }[]) => spans.map(({ name }) => name)

describe('spans', () => {
  test('a batch over HTTP runs both steps once, under the span of the request', async () => {
    const { auth, config, db, stage } = server
    const context = createAuthContext(config)
    const handle = createHandler({
      auth,
      config,
      router: appRouter,
      createContext: (options) => ({ ...context.http(options), db, stage }),
    })
    const session = await auth.signIn()
    const { spans } = collectTelemetry()
    const serve = () =>
      trace.getTracer('http').startActiveSpan('GET', async (span) => {
        const headers = new Headers({ ...browser(session).headers })
        const url = 'http://localhost:3000/trpc/me,me?batch=1&input=%7B%7D'
        const response = await handle(new Request(url, { headers }))
        span.end()
        return response.status
      })
    expect(await serve()).toBe(200)
    expect(spans()).toMatchObject([
      { name: 'sallyport.step1', parent: 'GET' },
      { name: 'sallyport.step2', kind: 'CLIENT', parent: 'GET' },
      { name: 'GET' },
    ])
  })

  test.each(['httpLink over node', 'httpBatchStreamLink over fetch', 'createCaller'] as const)(
    'each request has the spans of both steps: %s',
    async (transport) => {
      const session = await server.auth.signIn()
      const { spans } = collectTelemetry()
      expect((await ask(server, browser(session), transport)).rejection).toBeNull()
      expect(named(spans())).toEqual(['sallyport.step1', 'sallyport.step2'])
    },
  )

  test('a WebSocket has Step 1 at the handshake, and Step 2 with every call', async () => {
    const session = await server.auth.signIn()
    const { spans } = collectTelemetry()
    const client = connectWebSocket(server, browser(session))
    for (let i = 0; i < 3; i++) await client.me.query()
    expect(named(spans())).toEqual(['sallyport.step1', ...Array(3).fill('sallyport.step2')])
  })
})

describe('streams and sockets', () => {
  const open = async (points: ReturnType<typeof collectTelemetry>['points'], what: string) =>
    (await points(`sallyport.${what}.count`))[0]?.value

  test.each([
    ['WebSocket', overWebSocket('clock'), 1],
    ['an observable over WebSocket', overWebSocket('observableClock'), 1],
    ['server-sent events', overEvents('fetch', 'clock'), 0],
    ['JSON lines', overJsonLines('node', 'streamed'), 0],
  ] as const)('are counted while they are open: %s', async (_transport, openIt, sockets) => {
    const { points, units } = collectTelemetry()
    const { stream } = await begin(server, openIt)
    expect(await open(points, 'stream')).toBe(1)
    expect((await open(points, 'socket')) ?? 0).toBe(sockets)
    stream.unsubscribe()
    await until(async () => (await open(points, 'stream')) === 0)
    await server.clear()
    await until(async () => ((await open(points, 'socket')) ?? 0) === 0)
    expect(await units()).toMatchObject({ 'sallyport.stream.count': '{stream}' })
  })

  test.each([
    ['WebSocket', overWebSocket('clock')],
    ['server-sent events', overEvents('node', 'clock')],
  ] as const)('the time until a revocation ends a stream: %s', async (_transport, openIt) => {
    const { session, stream } = await begin(server, openIt)
    const { points, units } = collectTelemetry()
    await server.auth.revoke(session)
    expectEnd(await stream.ended, 'SESSION_NOT_FOUND')
    const [delay] = await points('sallyport.revocation.delay')
    expect(delay).toMatchObject({ value: 1 })
    expect(delay?.sum).toBeGreaterThan(0)
    expect(await points('sallyport.denials')).toMatchObject([
      { attributes: { 'sallyport.reason': 'SESSION_NOT_FOUND' } },
    ])
    expect(await units()).toMatchObject({ 'sallyport.revocation.delay': 's' })
  })

  test('a notification without a revocation records no delay', async () => {
    const { session, stream } = await begin(server, overWebSocket('clock'))
    const { points } = collectTelemetry()
    server.feed.publish(session)
    await until(async () => (await points('sallyport.lookup.duration')).length > 0)
    await server.auth.db
      .updateTable('session')
      .set({ expiresAt: new Date(0) })
      .execute()
    expectEnd(await stream.ended, 'SESSION_EXPIRED')
    expect(await points('sallyport.revocation.delay')).toEqual([])
  })

  test('a renewal has the age of the lease, and neither spans nor denials', async () => {
    const { stream } = await begin(server, overWebSocket('clock'))
    const { points, spans } = collectTelemetry()
    await until(async () => (await points('sallyport.lease.age')).length > 0)
    const [age] = await points('sallyport.lease.age')
    // Renewed after 2 s, or later on a busy machine.
    expect(age?.sum).toBeGreaterThan(1.9)
    expect(await points('sallyport.lookup.duration')).toHaveLength(1)
    expect(spans()).toEqual([])
    expect(await points('sallyport.denials')).toEqual([])
    stream.unsubscribe()
  })
})

describe('429s are counted by limit', () => {
  const limitsOf = async (points: ReturnType<typeof collectTelemetry>['points']) =>
    (await points('sallyport.rate_limited')).map(({ attributes }) => attributes['sallyport.limit'])

  test('of procedures, by what identifies the caller', async () => {
    const { points } = collectTelemetry()
    const { limited } = callerFor(server, browser(await server.auth.signIn()))
    for (let i = 0; i < 4; i++) {
      await limited.write().catch(() => {})
      await limited.upload().catch(() => {})
      await limited.invite({ name: 'Ada' }).catch(() => {})
    }
    expect((await limitsOf(points)).toSorted()).toEqual([
      'procedure:address',
      'procedure:name',
      'procedure:user',
    ])
  })

  async function openLimited(limits: Parameters<typeof openLimitedApp>[1]) {
    const options = { telemetry: openTelemetry(), trustedProxies: ['loopback'] }
    const app = await openLimitedApp('ws', limits, options)
    onTestFinished(() => app.close())
    const collected = collectTelemetry()
    const session = await app.auth.signIn()
    const headers = { cookie: session.cookie, 'x-forwarded-for': '203.0.113.7' }
    return { app, headers, limits: () => limitsOf(collected.points) }
  }
  const call = (id: number, method: string, path: string) => ({ id, method, params: { path } })

  test('of handshakes and sockets of an address', async () => {
    const { app, headers, limits } = await openLimited({ maxHandshakesPerAddress: 1 })
    await app.connect(headers)
    await expect(app.connect(headers)).rejects.toThrow('429')
    expect(await limits()).toEqual(['socket:address'])
  })

  test('of sockets of a session', async () => {
    const { app, headers, limits } = await openLimited({ maxSocketsPerSession: 1 })
    for (const isAllowed of [true, false]) {
      const socket = await app.connect(headers)
      socket.send(JSON.stringify(call(1, 'query', 'me')))
      const answer = String(await once(socket, 'message'))
      expect(answer.includes('RATE_LIMITED')).toBe(!isAllowed)
    }
    expect((await limits()).every((limit) => limit === 'socket:session')).toBe(true)
    expect(await limits()).not.toEqual([])
  })

  test('of subscriptions of a socket', async () => {
    const { app, headers, limits } = await openLimited({ maxSubscriptions: 1 })
    const socket = await app.connect(headers)
    const messages: string[] = []
    socket.on('message', (message) => messages.push(String(message)))
    const receives = (text: string) => until(() => messages.some((message) => message.includes(text)))
    socket.send(JSON.stringify(call(1, 'subscription', 'idle')))
    await receives('ready')
    socket.send(JSON.stringify(call(2, 'subscription', 'idle')))
    await receives('RATE_LIMITED')
    expect(await limits()).toEqual(['socket:subscriptions'])
  })

  test('of subscriptions that no guard has limited, and frames', async () => {
    const { app, headers, limits } = await openLimited({ maxSubscriptions: 1 })
    const socket = await app.connect(headers)
    for (let id = 1; id <= 3; id++) socket.send(JSON.stringify(call(id, 'subscription', 'publicIdle')))
    const [code] = await once(socket, 'close')
    expect(code).toBe(4429)
    expect(await limits()).toEqual(['socket:frames'])
  })
})

test('503s over every transport are counted by code', async () => {
  const session = await server.auth.signIn()
  const { points } = collectTelemetry()
  server.store.answer = () => Promise.reject(Object.assign(new Error('full'), { code: 'SQLITE_FULL' }))
  for (const transport of ['httpLink over node', 'wsLink', 'createCaller'] as const)
    await ask(server, browser(session), transport)
  const attributes = {
    'error.type': 'DATABASE_FULL',
    'sallyport.reason': 'SESSIONS_UNAVAILABLE',
    'sallyport.step': 'step2',
  }
  expect(await points('sallyport.failures')).toEqual([{ attributes, value: 3 }])
})

test('a stream that its client never closes ends with its socket', async () => {
  const { points } = collectTelemetry()
  const client = connectWebSocket(server, browser(await server.auth.signIn()))
  const stream = openStream(client.clock)
  await stream.first
  for (const socket of server.sockets) socket.terminate()
  stream.unsubscribe()
  await until(async () => (await points('sallyport.stream.count'))[0]?.value === 0)
})

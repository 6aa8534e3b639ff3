import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { createTestAuth } from '@sallyport/core/testing'
import { createAuthContext, type WebSocketLimits, webSocketOptions } from '@sallyport/trpc'
import { createTRPCClient, createWSClient, wsLink } from '@trpc/client'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { eventually } from '../../../core/test/support/eventually.ts'
import { decrement, increment, limitAddresses } from '../../src/server/limit-addresses.ts'
import { socketLimits } from '../../src/server/socket-limits.ts'
import {
  ADAPTERS,
  type Adapter,
  type LimitedApp,
  type LimitedRouter,
  openLimitedApp,
  VALUE_BYTES,
} from '../support/limited-app.ts'
import { soon } from '../support/soon.ts'
import { startServer } from '../support/start-server.ts'
import { browser, ORIGIN } from '../support/visitor.ts'

const DEFAULTS = {
  framesPer100Ms: 50,
  overBudgetMs: 5_000,
  pauseAboveBytes: 256 * 1024,
  maxBufferedBytes: 1024 * 1024,
  maxSubscriptions: 100,
  maxSocketsPerSession: 20,
  maxSocketsPerAddress: 1_000,
  maxHandshakesPerAddress: 100,
} satisfies WebSocketLimits

/** The same class limits the sockets of both adapters. `pnpm test:sockets` runs all tests with each. */
const EACH_ADAPTER = process.env.SOCKET_SECONDS === undefined ? (['ws'] as const) : ADAPTERS

/** More frames than any of these tests sends. */
const UNLIMITED = { framesPer100Ms: 1_000_000 } as const

afterEach(() => vi.restoreAllMocks())

async function open(
  adapter: Adapter,
  limits: WebSocketLimits = {},
  options: { trustedProxies?: readonly string[] } = {},
): Promise<LimitedApp> {
  vi.spyOn(console, 'warn').mockImplementation(() => {})
  const app = await openLimitedApp(adapter, limits, options)
  onTestFinished(() => app.close())
  return app
}

type Message = {
  id: number
  result?: { type: string; data: unknown }
  error?: { data: { auth: { reason: string; replay: boolean; retryAfterSeconds: number } | null } }
}

/** Records a socket's messages and close. */
function record(socket: WebSocket) {
  const messages: Message[] = []
  const closed = Promise.withResolvers<string>()
  socket.on('message', (message) => messages.push(JSON.parse(String(message))))
  socket.on('close', (code, reason) => closed.resolve(`${code} ${reason}`.trim()))
  return { messages, closed: closed.promise }
}

const call = (id: number, path: string, method = 'query') => JSON.stringify({ id, method, params: { path } })
const batch = (calls: number, path: string, method?: string) =>
  `[${Array.from({ length: calls }, (_, id) => call(id, path, method))}]`

/** Records after how many calls the server stops reading its only socket. */
function watchPauses(app: LimitedApp): number[] {
  const pausedAfter: number[] = []
  let delivered = 0
  for (const socket of app.sockets) {
    const pause = socket.pause.bind(socket)
    socket.on('message', () => delivered++)
    vi.spyOn(socket, 'pause').mockImplementation(() => {
      pausedAfter.push(delivered)
      pause()
    })
  }
  return pausedAfter
}

/** Creates a client whose sockets send headers with the upgrade. */
function plainClient(app: LimitedApp, headers: Readonly<Record<string, string>>) {
  const sockets: WebSocket[] = []
  const ClientSocket: unknown = class extends WebSocket {
    constructor(url: string | URL) {
      super(url, { headers })
      sockets.push(this)
    }
  }
  const client = createWSClient({
    url: app.url,
    WebSocket: ClientSocket as typeof globalThis.WebSocket,
    retryDelayMs: () => 10,
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.terminate()
    return client.close()
  })
  return { sockets, trpc: createTRPCClient<LimitedRouter>({ links: [wsLink({ client })] }) }
}

describe.each(ADAPTERS)('frames over %s', (adapter) => {
  test('are handled at once up to 50 in 100 ms', async () => {
    const app = await open(adapter)
    const socket = await app.connect()
    const { messages } = record(socket)
    const pausedAfter = watchPauses(app)
    for (let id = 0; id < 320; id++) socket.send(call(id, 'ping'))
    await soon(() => expect(messages).toHaveLength(320))
    // On a busy machine, the frames of a window may arrive during the next one.
    const windows = pausedAfter.map((handled, index) => handled - (pausedAfter[index - 1] ?? 0))
    expect(Math.min(...windows)).toBe(50)
    expect(messages.map(({ id }) => id)).toEqual(Array.from({ length: 320 }, (_, id) => id))
    socket.terminate()
  })

  test('of 7 bytes: the server stops reading, and closes with 4429', async () => {
    const app = await open(adapter, { overBudgetMs: 300 })
    const socket = await app.connect()
    const { messages, closed } = record(socket)
    const pausedAfter = watchPauses(app)
    for (let frame = 0; frame < 10_000; frame++) socket.send('1')
    expect(await closed).toBe('4429 RATE_LIMITED')
    expect(pausedAfter[0]).toBe(50)
    // The first window and three more, or four if a timer fired early. tRPC rejected each frame in them.
    expect(messages.length).toBeLessThanOrEqual(5 * 50)
  })
})

/** `ws` itself cuts off a socket that is closing, but only after 30 s. */
const BEFORE_WS_MS = 20_000

describe.each(EACH_ADAPTER)('other frames over %s', (adapter) => {
  test('that are pongs have the same limit', async () => {
    const app = await open(adapter, { overBudgetMs: 300 })
    const socket = await app.connect()
    const { closed } = record(socket)
    for (let frame = 0; frame < 10_000; frame++) socket.pong()
    expect(await closed).toBe('4429 RATE_LIMITED')
  })

  test('are limited before `createContext`, which waits for the connection parameters', async () => {
    const app = await open(adapter, { overBudgetMs: 300 })
    const socket = new WebSocket(`${app.url}?connectionParams=1`, { headers: { origin: ORIGIN } })
    const pongs: unknown[] = []
    const closed = Promise.withResolvers<string>()
    socket.on('message', (message) => pongs.push(String(message)))
    socket.on('close', (code, reason) => closed.resolve(`${code} ${reason}`))
    await once(socket, 'open')
    // tRPC responds to these without a context.
    for (let frame = 0; frame < 10_000; frame++) socket.send('PING')
    expect(await closed.promise).toBe('4429 RATE_LIMITED')
    expect(new Set(pongs)).toEqual(new Set(['PONG']))
    expect(pongs.length).toBeLessThanOrEqual(5 * 50)
    expect(app.counts.contexts).toBe(0)
  })

  test('that never stop are cut off when the closing handshake takes too long', async () => {
    const app = await open(adapter, { overBudgetMs: 200 })
    const socket = await app.connect()
    const { closed } = record(socket)
    // Never responds to the close frame.
    socket.pause()
    for (let frame = 0; frame < 10_000; frame++) socket.send('1')
    await soon(() => expect(app.sockets.size).toBe(1))
    await soon(() => expect(app.sockets.size).toBe(0), BEFORE_WS_MS)
    socket.resume()
    await closed
  })

  test('with many calls: each call counts toward the limit', async () => {
    const app = await open(adapter, { framesPer100Ms: 10, overBudgetMs: 60_000 })
    const socket = await app.connect()
    const { messages } = record(socket)
    const pausedAfter = watchPauses(app)
    socket.send(batch(35, 'ping'))
    await soon(() => expect(messages).toHaveLength(35))
    expect(pausedAfter).toEqual([10, 20, 30])
    socket.terminate()
  })

  test("with nested batches can't bypass the limit", async () => {
    const app = await open(adapter)
    const socket = await app.connect()
    const { messages } = record(socket)
    socket.send(`[${batch(15, 'ping')},${call(99, 'ping')}]`)
    await soon(() => expect(messages).toHaveLength(2))
    expect(app.counts.pings).toBe(1)
    socket.terminate()
  })

  test.each(['01', '[1,"error"]', '{"id":1}', '1e999', '"\\u0031"'])(
    'of a call with the id %s cause no exception',
    async (id) => {
      const app = await open(adapter)
      const socket = await app.connect()
      const { messages } = record(socket)
      const uncaught: unknown[] = []
      const listener = (error: unknown) => uncaught.push(error)
      process.on('uncaughtException', listener)
      onTestFinished(() => void process.off('uncaughtException', listener))
      socket.send(call(0, 'ping').replace('"id":0', `"id":${id}`))
      socket.send(call(7, 'ping'))
      await soon(() => expect(messages).toContainEqual(expect.objectContaining({ id: 7 })))
      expect(uncaught).toEqual([])
      socket.terminate()
    },
  )

  test('that are too long close it with 1009, and the server reads no more of them', async () => {
    const app = await open(adapter)
    const socket = await app.connect()
    const { closed } = record(socket)
    const [served] = app.sockets
    socket.send('x'.repeat(32 * 1024 * 1024))
    await soon(() => expect(served?.isPaused).toBe(true))
    await soon(() => expect(app.sockets.size).toBe(0), BEFORE_WS_MS)
    expect(await closed).toMatch(/^(1009|1006)/)
  })

  test('of a disconnected client that arrived together with others are dropped', async () => {
    const app = await open(adapter)
    const socket = await app.connect()
    for (let id = 0; id < 500; id++) socket.send(call(id, 'ping'))
    await soon(() => expect(app.counts.pings).toBeGreaterThan(0))
    socket.terminate()
    await soon(() => expect(app.sockets.size).toBe(0))
    expect(app.counts.pings).toBeLessThan(500)
  })
})

describe.each(ADAPTERS)('back pressure over %s', (adapter) => {
  test('stops reading the source of a guarded stream at 256 KB, and goes on when the client reads', async () => {
    const app = await open(adapter)
    const { cookie } = await app.auth.signIn()
    const socket = await app.connect({ cookie })
    socket.pause()
    socket.send(call(1, 'values', 'subscription'))
    await soon(() =>
      expect(Math.max(...Array.from(app.sockets, ({ bufferedAmount }) => bufferedAmount))).toBeGreaterThan(
        DEFAULTS.pauseAboveBytes,
      ),
    )
    // The kernel's buffers are not included.
    let { values } = app.counts
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    await eventually(() => {
      const before = values
      values = app.counts.values
      expect(values).toBe(before)
    })
    for (const { bufferedAmount } of app.sockets)
      expect(bufferedAmount).toBeLessThan(DEFAULTS.pauseAboveBytes + 2 * VALUE_BYTES)
    socket.resume()
    await soon(() => expect(app.counts.values).toBeGreaterThan(values + 20))
    socket.terminate()
  })

  test('does not keep a revocation from ending the stream', async () => {
    const app = await open(adapter)
    const session = await app.auth.signIn()
    const socket = await app.connect({ cookie: session.cookie })
    const { messages } = record(socket)
    socket.pause()
    socket.send(call(1, 'values', 'subscription'))
    await soon(() =>
      expect(Math.max(...Array.from(app.sockets, ({ bufferedAmount }) => bufferedAmount))).toBeGreaterThan(
        DEFAULTS.pauseAboveBytes,
      ),
    )
    await app.auth.revoke(session)
    await new Promise((resolve) => setTimeout(resolve, 50))
    const { values } = app.counts
    socket.resume()
    const reasons = () => messages.flatMap(({ error }) => error?.data.auth?.reason ?? [])
    await soon(() => expect(reasons()).toEqual(['SESSION_NOT_FOUND']))
    expect(app.counts.values).toBe(values)
    socket.terminate()
  })

  test('terminates the socket of a client that never reads over 1 MB', async () => {
    const app = await open(adapter)
    const socket = await app.connect()
    const { closed } = record(socket)
    let buffered = 0
    socket.pause()
    socket.send(call(1, 'publicValues', 'subscription'))
    await soon(() => {
      for (const { bufferedAmount } of app.sockets) buffered = Math.max(buffered, bufferedAmount)
      expect(app.counts.values).toBeGreaterThan(0)
      expect(app.sockets.size).toBe(0)
    })
    expect(buffered).toBeLessThan(DEFAULTS.maxBufferedBytes + 2 * VALUE_BYTES)
    socket.resume()
    await closed
  })
})

describe.each(ADAPTERS)('subscriptions over %s', (adapter) => {
  test('beyond 100: a guarded one is rejected with RATE_LIMITED, the others stay', async () => {
    const app = await open(adapter, UNLIMITED)
    const socket = await app.connect({ cookie: (await app.auth.signIn()).cookie })
    const { messages } = record(socket)
    socket.send(batch(105, 'idle', 'subscription'))
    await soon(() => expect(app.counts.streams).toBe(100))
    const rejected = () => messages.filter(({ error }) => error !== undefined)
    await soon(() => expect(rejected()).toHaveLength(5))
    for (const { error } of rejected())
      expect(error?.data.auth).toEqual({ reason: 'RATE_LIMITED', replay: true, retryAfterSeconds: 5 })

    // A subscription that ends makes room.
    const { id } = messages.find(({ result }) => result?.type === 'started') ?? expect.fail()
    socket.send(JSON.stringify({ id, method: 'subscription.stop' }))
    await soon(() => expect(app.counts.streams).toBe(99))
    await soon(() => expect(messages.at(-1)).toMatchObject({ id, result: { type: 'stopped' } }))
    socket.send(call(200, 'idle', 'subscription'))
    await soon(() => expect(app.counts.streams).toBe(100))
    expect(rejected()).toHaveLength(5)
    socket.terminate()
  })

  test('beyond 100 public ones: the socket is closed with 4429', async () => {
    const app = await open(adapter, UNLIMITED)
    const socket = await app.connect()
    const { closed } = record(socket)
    for (let id = 0; id < 100; id++) socket.send(call(id, 'publicIdle', 'subscription'))
    await soon(() => expect(app.counts.streams).toBe(100))
    socket.send(call(100, 'publicIdle', 'subscription'))
    expect(await closed).toBe('4429 RATE_LIMITED')
    await soon(() => expect(app.counts.streams).toBe(0))
  })
})

describe.each(EACH_ADAPTER)('other subscriptions over %s', (adapter) => {
  test("with the same id can't bypass the limit", async () => {
    const app = await open(adapter, UNLIMITED)
    const socket = await app.connect()
    const { closed } = record(socket)
    for (let round = 0; round < 2; round++) socket.send(call(1, 'publicIdle', 'subscription'))
    expect(await closed).toBe('4429 RATE_LIMITED')
  })

  test('over the limit close the socket, and no later frame is handled', async () => {
    const app = await open(adapter, UNLIMITED)
    const socket = await app.connect()
    const { closed } = record(socket)
    for (let round = 0; round < 2; round++) socket.send(call(1, 'publicIdle', 'subscription'))
    for (let id = 2; id < 10; id++) socket.send(call(id, 'ping'))
    expect(await closed).toBe('4429 RATE_LIMITED')
    expect(app.counts.pings).toBe(0)
  })

  test("can't bypass the limit by failing another call with their id", async () => {
    const app = await open(adapter, UNLIMITED)
    const socket = await app.connect()
    const { messages } = record(socket)
    socket.send(call(1, 'publicIdle', 'subscription'))
    await soon(() => expect(app.counts.streams).toBe(1))
    socket.send(call(1, 'failing'))
    await soon(() => expect(messages.at(-1)?.result?.type).toBe('stopped'))
    expect(app.counts.streams).toBe(0)
    socket.terminate()
  })

  test('100 of a plain wsLink come back after a deploy, on one socket that stays', async () => {
    const app = await open(adapter)
    const { trpc, sockets } = plainClient(app, browser(await app.auth.signIn()).headers)
    const values = Array.from({ length: 100 }, () => 0)
    const errors: unknown[] = []
    for (const index of values.keys())
      trpc.idle.subscribe(undefined, {
        onData: () => values.splice(index, 1, (values[index] ?? 0) + 1),
        onError: (error: unknown) => errors.push(error),
      })
    await soon(() => expect(values).toEqual(values.map(() => 1)))
    sockets[0]?.terminate()
    await soon(() => expect(values).toEqual(values.map(() => 2)))
    expect(errors).toEqual([])
    expect(sockets).toHaveLength(2)
    expect(sockets[1]?.readyState).toBe(WebSocket.OPEN)
  })
})

describe('sockets of a session', () => {
  test('beyond 20 get RATE_LIMITED for guarded calls until another is closed; public calls work', async () => {
    const app = await open('ws')
    const session = await app.auth.signIn()
    const elsewhere = await app.auth.signIn({ userId: session.userId })
    const sockets: WebSocket[] = []
    for (let count = 0; count < 20; count++) {
      const socket = await app.connect({ cookie: session.cookie })
      const { messages } = record(socket)
      socket.send(call(1, 'me'))
      await soon(() => expect(messages[0]?.result?.data).toBe(session.userId))
      sockets.push(socket)
    }
    const last = await app.connect({ cookie: session.cookie })
    const { messages } = record(last)
    last.send(call(1, 'me'))
    await soon(() =>
      expect(messages[0]?.error?.data.auth).toMatchObject({ reason: 'RATE_LIMITED', replay: true }),
    )
    last.send(call(2, 'ping'))
    await soon(() => expect(messages[1]?.result?.data).toBe(1))
    const other = await app.connect({ cookie: elsewhere.cookie })
    const { messages: others } = record(other)
    other.send(call(1, 'me'))
    await soon(() => expect(others[0]?.result?.data).toBe(session.userId))

    sockets[0]?.terminate()
    await soon(() => expect(app.sockets.size).toBe(21))
    last.send(call(3, 'me'))
    await soon(() => expect(messages[2]?.result?.data).toBe(session.userId))
    for (const socket of [...sockets, last, other]) socket.terminate()
  })
})

describe.each(ADAPTERS)('connections of an address over %s', (adapter) => {
  const PROXIED = { trustedProxies: ['loopback'] }
  const from = (address: string) => ({ 'x-forwarded-for': address })

  test('beyond 100 handshakes in 10 s: 429 at the upgrade, for that address alone', async () => {
    const app = await open(adapter, {}, PROXIED)
    for (let count = 0; count < 100; count++) (await app.connect(from('203.0.113.1'))).terminate()
    await expect(app.connect(from('203.0.113.1'))).rejects.toThrow(/^429 ([1-9]|10)$/)
    for (const address of ['203.0.113.2', '2001:db8::1']) (await app.connect(from(address))).terminate()
    expect(console.warn).not.toHaveBeenCalled()
  })

  test("beyond an address's socket limit: 429, until one is closed", async () => {
    const app = await open(adapter, { maxSocketsPerAddress: 3 }, PROXIED)
    const sockets: WebSocket[] = []
    for (let count = 0; count < 3; count++) sockets.push(await app.connect(from('203.0.113.1')))
    await expect(app.connect(from('203.0.113.1'))).rejects.toThrow(/^429/)
    sockets[0]?.terminate()
    await soon(async () => sockets.push(await app.connect(from('203.0.113.1'))))
    for (const socket of sockets) socket.terminate()
  })

  test('of a /48 of IPv6 beyond ten times the limit of a /64, from any /64', async () => {
    const app = await open(adapter, { maxHandshakesPerAddress: 1 }, PROXIED)
    for (let site = 0; site < 10; site++) (await app.connect(from(`2001:db8:1:${site}::1`))).terminate()
    await expect(app.connect(from('2001:db8:1:a::1'))).rejects.toThrow(/^429/)
    ;(await app.connect(from('2001:db8:2::1'))).terminate()
  })

  test('are also counted for the /48 of IPv6 addresses, which may have ten times as many', async () => {
    const app = await open(adapter, { maxSocketsPerAddress: 1 }, PROXIED)
    const sockets: WebSocket[] = []
    for (let id = 1; id <= 10; id++) sockets.push(await app.connect(from(`2001:db8:1:${id}::1`)))
    await expect(app.connect(from('2001:db8:1:11::1'))).rejects.toThrow(/^429/)
    sockets.push(await app.connect(from('2001:db8:2::1')))
    sockets[0]?.terminate()
    await soon(async () => sockets.push(await app.connect(from('2001:db8:1:11::1'))))
    for (const socket of sockets) socket.terminate()
  })

  test.each([
    { trustedProxies: [], headers: {}, address: '(::ffff:)?127.0.0.1|::1' },
    { trustedProxies: ['loopback'], headers: from('10.1.2.3'), address: '10.1.2.3' },
  ])("are not counted for $address, which may be a proxy's: there is one warning", async (row) => {
    const app = await open(adapter, { maxHandshakesPerAddress: 2 }, row)
    for (let count = 0; count < 5; count++) (await app.connect(row.headers)).terminate()
    expect(console.warn).toHaveBeenCalledOnce()
    expect(console.warn).toHaveBeenCalledWith(
      expect.stringMatching(new RegExp(`(${row.address})[^]*trustedProxies`)),
    )
  })

  test('are counted for a private address in trustedProxies', async () => {
    const app = await open(adapter, { maxHandshakesPerAddress: 2 }, PROXIED)
    for (let count = 0; count < 2; count++) (await app.connect()).terminate()
    await expect(app.connect()).rejects.toThrow(/^429/)
  })
})

describe('the totals of an address', () => {
  /** Returns a function that adds a handshake of an address, and its socket. */
  async function limitTo(limits: WebSocketLimits) {
    const { config, close } = await createTestAuth()
    onTestFinished(close)
    const count = limitAddresses(config, socketLimits(limits))
    return (remoteAddress: string) => {
      const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress })
      return { socket, retryAfter: count({ headers: {}, url: '/', socket }) }
    }
  }

  test('of handshakes start over after 10 s, and until then name the time to wait', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000)
    const connect = await limitTo({ maxHandshakesPerAddress: 1 })
    const waits = [1_000, 1_000, 2_500, 10_999, 11_000, 11_000, 20_999, 21_000].map((ms) => {
      now.mockReturnValue(ms)
      return connect('203.0.113.1').retryAfter
    })
    expect(waits).toEqual([null, 10, 9, 1, null, 10, 1, null])
  })

  test('of sockets lose one with each socket that closes', async () => {
    const connect = await limitTo({ maxSocketsPerAddress: 2 })
    const [first, second] = [connect('203.0.113.1'), connect('203.0.113.1')]
    expect([first.retryAfter, second.retryAfter]).toEqual([null, null])
    expect(connect('203.0.113.1').retryAfter).not.toBeNull()
    expect(connect('203.0.113.2').retryAfter).toBeNull()
    first.socket.emit('close')
    expect(connect('203.0.113.1').retryAfter).toBeNull()
    expect(connect('203.0.113.1').retryAfter).not.toBeNull()
  })

  test('take no memory once they are zero', () => {
    const totals = new Map<string, number>()
    expect([increment(totals, 'a'), increment(totals, 'a')]).toEqual([1, 2])
    decrement(totals, 'a')
    expect([...totals]).toEqual([['a', 1]])
    decrement(totals, 'a')
    expect(totals.size).toBe(0)
  })
})

test("a connection that ends during the app's upgrade check is not counted as a socket", async () => {
  const auth = await createTestAuth({ trustedProxies: ['loopback'] })
  const wss = new WebSocketServer({
    noServer: true,
    ...webSocketOptions(auth.config, { maxSocketsPerAddress: 1 }),
  })
  const server = createServer()
  server.on('upgrade', async (request, socket, head) => {
    // Like an app's access log. Node remembers the address after the end.
    const { remoteAddress } = request.socket
    if (request.headers['x-ends'] !== undefined) await once(socket.destroy(), 'close')
    expect(request.socket.remoteAddress).toBe(remoteAddress)
    wss.handleUpgrade(request, socket, head, (accepted) => accepted.terminate())
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  onTestFinished(async () => {
    server.close()
    await auth.close()
  })
  const { port } = server.address() as AddressInfo
  async function connect(headers: Record<string, string>): Promise<string> {
    const socket = new WebSocket(`ws://localhost:${port}`, { headers: { origin: ORIGIN, ...headers } })
    return new Promise((resolve) => {
      socket.once('open', () => resolve('open'))
      socket.once('error', ({ message }) => resolve(message))
    })
  }
  expect(await connect({ 'x-ends': '1' })).toBe('socket hang up')
  expect(await connect({})).toBe('open')
})

describe('the authentication deadline', () => {
  test('closes a socket that has not authenticated with 4408', async () => {
    const app = await open('ws', { authenticateWithinMs: 50 })
    const { closed } = record(await app.connect())
    expect(await closed).toBe('4408 Not authenticated in time')
  })

  test("doesn't close a socket whose credentials were checked at the handshake", async () => {
    const app = await open('ws', { authenticateWithinMs: 2_000 })
    const socket = await app.connect({ cookie: (await app.auth.signIn()).cookie })
    const stranger = record(await app.connect())
    await stranger.closed
    expect(socket.readyState).toBe(WebSocket.OPEN)
    socket.terminate()
  })

  test('is off by default', async () => {
    const app = await open('ws')
    const socket = await app.connect()
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(socket.readyState).toBe(WebSocket.OPEN)
    socket.terminate()
  })
})

describe('the limits', () => {
  test.each(Object.keys(DEFAULTS).concat('authenticateWithinMs'))(
    '%s must be a positive whole number',
    async (name) => {
      const { config, close } = await createTestAuth()
      for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
        expect(() => webSocketOptions(config, { [name]: value })).toThrow(`webSocketOptions: ${name} must be`)
      expect(() => webSocketOptions(config, { [name]: 1 })).not.toThrow()
      await close()
    },
  )

  test('reject every upgrade if verifyClient is not called by ws', async () => {
    const { config, close } = await createTestAuth()
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { verifyClient } = webSocketOptions(config)
    const callback = vi.fn()
    const wss = new WebSocketServer({ noServer: true })
    verifyClient.call({}, { req: { headers: {}, url: '/', socket: {} as never } }, callback)
    expect(callback).toHaveBeenCalledWith(false, 500, 'Internal Server Error')
    expect(error).toHaveBeenCalledWith(expect.stringMatching(/called by ws 8\.7 or later. If you wrap it/))
    wss.close()
    await close()
  })

  test('replace the class of each server once', async () => {
    const { config, close } = await createTestAuth()
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const options = webSocketOptions(config)
    const callback = vi.fn()
    const servers = [0, 1].map(() => new WebSocketServer({ noServer: true, ...options }))
    const classes = servers.map((wss) => {
      const send = () =>
        options.verifyClient.call(
          wss.options,
          { req: { headers: { origin: config.baseUrl }, url: '/', socket: new Socket() } },
          callback,
        )
      send()
      const Limited = wss.options.WebSocket
      send()
      expect(wss.options.WebSocket).toBe(Limited)
      expect(Limited?.prototype).toBeInstanceOf(WebSocket)
      return Limited
    })
    expect(classes[0]).not.toBe(classes[1])
    for (const call of callback.mock.calls) expect(call).toEqual([true])
    expect(callback).toHaveBeenCalledTimes(4)
    for (const wss of servers) wss.close()
    await close()
  })
})

describe('the handshake checks', () => {
  const serve = async (handshake: 'both steps' | 'Step 1') => {
    const server = await startServer({ handshake })
    onTestFinished(async () => {
      await server.clear()
      await server.close()
    })
    return server
  }
  type Server = Awaited<ReturnType<typeof serve>>

  async function connect(server: Server, cookie: string) {
    const socket = new WebSocket(`ws://${server.host}/ws`, { headers: browser({ cookie }).headers })
    onTestFinished(() => socket.terminate())
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    const { messages } = record(socket)
    return {
      messages,
      async ask(id: number, path = 'me') {
        socket.send(call(id, path))
        const answer = await soon(() => messages.find((message) => message.id === id) ?? expect.fail())
        return answer.error === undefined ? answer.result?.data : answer.error.data.auth?.reason
      },
    }
  }

  test('start at the connection: Step 1, then Step 2', async () => {
    const server = await serve('both steps')
    const { cookie } = await server.auth.signIn()
    await connect(server, cookie)
    await soon(() => expect(server.auth.lookups.count).toBe(1))
    expect(server.keys.lookups).toBe(1)
  })

  test('start with Step 1 alone without a store', async () => {
    const server = await serve('Step 1')
    const { cookie } = await server.auth.signIn()
    const { ask } = await connect(server, cookie)
    await soon(() => expect(server.keys.lookups).toBe(1))
    expect(await ask(1, 'health')).toBe('ok')
    expect(server.auth.lookups.count).toBe(0)
  })

  test("don't run for a visitor without a credential", async () => {
    const server = await serve('both steps')
    const { ask } = await connect(server, '')
    expect(await ask(1, 'health')).toBe('ok')
    expect(server.keys.lookups + server.auth.lookups.count).toBe(0)
    expect(await ask(2)).toBe('TOKEN_MISSING')
  })

  test.each(['both steps', 'Step 1'] as const)(
    'accept a JWT that expires before the first call, with %s',
    async (handshake) => {
      const server = await serve(handshake)
      const { cookie, userId } = await server.auth.signIn()
      const { ask } = await connect(server, cookie)
      await soon(() => expect(server.keys.lookups).toBe(1))
      expect(await ask(1, 'health')).toBe('ok')
      server.auth.clock.advance(server.config.jwtLifetimeSeconds + 1)
      expect(await ask(2)).toBe(userId)
    },
  )

  test('are awaited by concurrent calls, and each call still reads', async () => {
    const server = await serve('both steps')
    const { cookie, userId } = await server.auth.signIn()
    const gate = Promise.withResolvers<void>()
    server.store.answer = async (find) => {
      await gate.promise
      return find()
    }
    const { messages, ask } = await connect(server, cookie)
    const answers = Promise.all([ask(1), ask(2)])
    expect(await ask(3, 'health')).toBe('ok')
    expect(messages).toHaveLength(1)
    gate.resolve()
    expect(await answers).toEqual([userId, userId])
    expect(server.auth.lookups.count).toBe(3)
    await ask(4)
    expect(server.auth.lookups.count).toBe(4)
  })

  test('that fail give their reason to the waiting calls, and to no others', async () => {
    const server = await serve('both steps')
    const { cookie, userId } = await server.auth.signIn()
    const gate = Promise.withResolvers<void>()
    server.store.answer = async () => {
      server.store.answer = null
      await gate.promise
      throw new Error('down')
    }
    const { ask } = await connect(server, cookie)
    const waiting = ask(1)
    expect(await ask(2, 'health')).toBe('ok')
    gate.resolve()
    expect(await waiting).toBe('SESSIONS_UNAVAILABLE')
    expect(await ask(3)).toBe(userId)
  })

  test('authorize no call by a read before a revocation', async () => {
    const server = await serve('both steps')
    const session = await server.auth.signIn()
    const gate = Promise.withResolvers<void>()
    server.store.answer = async (find) => {
      const found = await find()
      server.store.answer = null
      await gate.promise
      return found
    }
    const { ask } = await connect(server, session.cookie)
    await soon(() => expect(server.auth.lookups.count).toBe(1))
    // By hand, so no node is notified.
    await server.auth.db.deleteFrom('session').where('id', '=', session.sessionId).execute()
    const answer = ask(1)
    gate.resolve()
    expect(await answer).toBe('SESSION_NOT_FOUND')
  })

  const failures: { reason: string; arrange: (server: Server) => Promise<string> }[] = [
    {
      reason: 'SESSION_NOT_FOUND',
      async arrange(server) {
        const session = await server.auth.signIn()
        await server.auth.revoke(session)
        return session.cookie
      },
    },
    {
      reason: 'TOKEN_INVALID',
      async arrange(server) {
        const { cookie } = await server.auth.signIn()
        return cookie.replace(/(jwt=[^;.]+\.[^;.]+\.)[^;]+/, '$1AAAA')
      },
    },
    {
      reason: 'SESSIONS_UNAVAILABLE',
      async arrange(server) {
        server.store.answer = () => Promise.reject(new Error('down'))
        return (await server.auth.signIn()).cookie
      },
    },
  ]
  test.each(failures)('that fail with $reason leave the socket open', async ({ reason, arrange }) => {
    const server = await serve('both steps')
    const { ask } = await connect(server, await arrange(server))
    expect(await ask(1)).toBe(reason)
    expect(await ask(2, 'health')).toBe('ok')
    expect(await ask(3)).toBe(reason)
    expect(server.sockets.size).toBe(1)
  })

  test.each(['store', 'keys'] as const)(
    'that fail with 503 of the %s: the next call tries again',
    async (part) => {
      const server = await serve('both steps')
      const { cookie, userId } = await server.auth.signIn()
      if (part === 'store') server.store.answer = () => Promise.reject(new Error('down'))
      else server.keys.fault = new Error('down')
      const { ask } = await connect(server, cookie)
      expect(await ask(1)).toMatch(/_UNAVAILABLE$/)
      server.store.answer = null
      server.keys.fault = null
      expect(await ask(2)).toBe(userId)
    },
  )

  test('of a banned user do not close the socket; the first guarded call does, after its response', async () => {
    const server = await serve('both steps')
    const session = await server.auth.signIn()
    await server.auth.ban(session)
    const { ask } = await connect(server, session.cookie)
    await soon(() => expect(server.auth.lookups.count).toBe(1))
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(await ask(1, 'health')).toBe('ok')
    expect(await ask(2)).toBe('ACCOUNT_BANNED')
    await soon(() => expect(server.sockets.size).toBe(0))
  })

  test('never throw from createContext', async () => {
    const server = await serve('both steps')
    const { ws } = createAuthContext(server.config, { db: server.db })
    const { auth } = ws({
      req: { headers: { cookie: 'service.jwt=a; service.jwt=b' } },
      info: { connectionParams: null },
    })
    expect(auth.transport).toBe('ws')
  })
})

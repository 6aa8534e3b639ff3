import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { createAuth, type OwnedDatabase } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import { createHandler, drain } from '@sallyport/trpc'
import { createTRPCClient, createWSClient, httpBatchLink, httpSubscriptionLink, wsLink } from '@trpc/client'
import { initTRPC } from '@trpc/server'
import { EventSource } from 'eventsource'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { socketWith } from '../support/connect.ts'
import { cookieFetch } from '../support/cookie-fetch.ts'
import { soon } from '../support/soon.ts'
import { openStream } from '../support/stream.ts'
import { ORIGIN } from '../support/visitor.ts'
import { type DrainRouter, drainNode, hostOf, type Node, openScene } from './open-node.ts'

/** Opens a socket, and returns it with the messages it gets and how it closes. */
async function openSocket({ host }: Node, cookie: string) {
  const socket = new WebSocket(`ws://${host}/trpc`, { headers: { cookie, origin: ORIGIN } })
  onTestFinished(() => socket.terminate())
  const messages: string[] = []
  socket.on('message', (message) => messages.push(String(message)))
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  await once(socket, 'open')
  const call = (id: number, path: string, input?: string) =>
    socket.send(JSON.stringify({ id, method: 'mutation', params: { path, input } }))
  return { socket, messages, closed, call }
}

function overHttp({ host }: Node, cookie: string) {
  const { fetch } = cookieFetch({ origin: ORIGIN }, cookie)
  const url = `http://${host}/trpc`
  const fetchAs = (input: RequestInfo | URL, init?: object) => fetch(input, init)
  return {
    calls: createTRPCClient<DrainRouter>({ links: [httpBatchLink({ url, fetch: fetchAs })] }),
    streams: createTRPCClient<DrainRouter>({
      links: [httpSubscriptionLink({ url, EventSource, eventSourceOptions: () => ({ fetch: fetchAs }) })],
    }),
  }
}

const RECONNECT = '{"id":null,"method":"reconnect"}'
const answer = (id: number, data: string) => JSON.stringify({ id, result: { type: 'data', data } })

test.each(['listen', 'listenWithFastify'] as const)(
  '%s: calls in flight over WebSocket are answered',
  async (adapter) => {
    const { auth, scene, cookie, ...servers } = await openScene()
    const node = await servers[adapter]()
    const [ada, visitor, idle] = [
      await openSocket(node, cookie),
      await openSocket(node, ''),
      await openSocket(node, cookie),
    ]
    for (let id = 1; id <= 6; id++) ada.call(id, 'writeGuarded', `${id}`)
    // As other clients may write it.
    ada.socket.send(`{ "method": "mutation", "params": { "path": "write", "input": "7" }, "id": 7 }`)
    visitor.call(1, 'write', '8')
    await soon(() => expect(scene.begun).toBe(8))

    const drained = drainNode(auth, node)
    // The client may send more until its next socket is open.
    ada.call(9, 'write', '9')
    expect(await idle.closed).toBe(1001)
    expect([ada.socket.readyState, visitor.socket.readyState]).toEqual([WebSocket.OPEN, WebSocket.OPEN])
    scene.release.resolve()

    expect([await ada.closed, await visitor.closed]).toEqual([1001, 1001])
    await drained
    expect(scene.written.toSorted()).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9'])
    const answered = [1, 2, 3, 4, 5, 6, 7, 9].map((id) => answer(id, `${id}`))
    expect(ada.messages.toSorted()).toEqual([...answered, RECONNECT].toSorted())
    expect(visitor.messages).toEqual([RECONNECT, answer(1, '8')])
  },
)

test('calls in flight over HTTP are answered, and connections and sockets are rejected', async () => {
  const { auth, scene, cookie, handle, listen } = await openScene()
  const node = await listen()
  const { calls } = overHttp(node, cookie)
  const call = calls.writeGuarded.mutate('1')
  await soon(() => expect(scene.begun).toBe(1))
  const drained = drainNode(auth, node)

  const health = await handle(new Request(`${ORIGIN}/healthz`))
  expect([health.status, await health.json()]).toEqual([503, { ok: false, draining: true }])
  await expect(fetch(`http://${node.host}/healthz`)).rejects.toThrow('fetch failed')
  await expect(openSocket(node, cookie)).rejects.toThrow()
  scene.release.resolve()
  expect(await call).toBe('1')
  await drained
  await expect(auth.db.selectFrom('user').select('id').execute()).rejects.toThrow()
})

test.each(['listen', 'listenWithFastify'] as const)(
  '%s: a server that goes on listening is not ready, and accepts no sockets and subscriptions',
  async (adapter) => {
    const { auth, scene, cookie, handle, ...servers } = await openScene()
    const node = await servers[adapter]()
    const { call, closed } = await openSocket(node, cookie)
    call(1, 'write', '1')
    await soon(() => expect(scene.begun).toBe(1))
    const drained = drain({ auth, sockets: node.sockets, server: [], timeoutMs: 50_000 })
    await expect(openSocket(node, cookie)).rejects.toThrow('Unexpected server response')
    const stream = openStream(overHttp(node, cookie).streams.events)
    expect(await stream.ended).toMatchObject({ auth: { reason: 'SESSIONS_UNAVAILABLE' } })
    const health = await handle(new Request(`${ORIGIN}/healthz`))
    expect([health.status, await health.json()]).toEqual([503, { ok: false, draining: true }])
    scene.release.resolve()
    await closed
    await drained
    node.server.closeAllConnections()
    node.server.close()
  },
)

test.each(['listen', 'listenWithFastify'] as const)(
  '%s: a subscription over server-sent events ends with SESSIONS_UNAVAILABLE',
  async (adapter) => {
    const { auth, scene, cookie, ...servers } = await openScene()
    const node = await servers[adapter]()
    const { streams, calls } = overHttp(node, cookie)
    const call = calls.writeGuarded.mutate('1')
    const stream = openStream(streams.events)
    await stream.first
    await soon(() => expect(scene.begun).toBe(1))
    const drained = drainNode(auth, node)
    expect(await stream.ended).toMatchObject({ auth: { reason: 'SESSIONS_UNAVAILABLE' } })
    await soon(() => expect(scene.streams).toBe(0))
    // The signal of the mutation has not aborted.
    scene.release.resolve()
    expect(await call).toBe('1')
    await drained
  },
)

test("tRPC's client continues its subscription on another node, without a lost event", async () => {
  const { auth, scene, cookie, listen } = await openScene()
  const [first, second] = [await listen(), await listen()]
  let { host } = first
  const client = createWSClient({
    url: () => `ws://${host}/trpc`,
    WebSocket: socketWith({ cookie, origin: ORIGIN }),
  })
  const trpc = createTRPCClient<DrainRouter>({ links: [wsLink({ client })] })
  const seen: number[] = []
  const errors: unknown[] = []
  trpc.events.subscribe(undefined, {
    onData: ({ data }) => seen.push(data),
    onError: (error) => errors.push(error),
  })
  const call = trpc.writeGuarded.mutate('1')
  await soon(() => expect([seen, scene.begun]).toEqual([[1], 1]))
  const timer = setInterval(() => scene.event++, 5)
  onTestFinished(() => clearInterval(timer))

  host = second.host
  const drained = drainNode(auth, first)
  await soon(() => expect(second.sockets.clients.size).toBe(1))
  scene.release.resolve()
  expect(await call).toBe('1')
  await soon(() => expect(first.sockets.clients.size).toBe(0))
  clearInterval(timer)
  await soon(() => expect(seen.at(-1)).toBe(scene.event))
  expect(seen).toEqual(Array.from({ length: scene.event }, (_, index) => index + 1))
  expect(errors).toEqual([])
  await client.close()
  await drained
  second.server.closeAllConnections()
  second.server.close()
})

test('calls in flight are answered if the app has closed the server before', async () => {
  const { auth, scene, cookie, listen } = await openScene()
  const node = await listen()
  const call = overHttp(node, cookie).calls.writeGuarded.mutate('1')
  await soon(() => expect(scene.begun).toBe(1))
  const closed = once(node.server, 'close')
  node.server.close()
  const drained = drain({ auth, server: node.server, timeoutMs: 50_000 })
  setTimeout(scene.release.resolve, 100)
  expect(await call).toBe('1')
  await Promise.all([closed, drained])
})

test('requests on open connections get responses, which end the connections, and long responses arrive', async () => {
  const long = 'x'.repeat(20_000_000)
  const server = createServer(({ url }, response) => response.end(url === '/long' ? long : 'short'))
  await once(server.listen(0), 'listening')
  const url = `http://${hostOf(server)}`
  const agent = new Agent({ keepAlive: true })
  const open = async (path: string) => {
    const request = get(url + path, { agent })
    const [response]: IncomingMessage[] = await once(request, 'response')
    return response ?? expect.fail()
  }
  const [before, slow] = [await open('/'), await open('/long')]
  expect(await text(before)).toBe('short')
  // Stops the clock, so no connection is closed before its response has arrived.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  onTestFinished(() => clock.mockRestore())
  const drained = drain({ auth: { close() {} }, server, timeoutMs: 50_000 })
  await setImmediate()
  const after = await open('/')
  expect([before.headers.connection, after.headers.connection]).toEqual(['keep-alive', 'close'])
  expect(await text(after)).toBe('short')
  expect((await text(slow)).length).toBe(long.length)
  clock.mockRestore()
  await drained
})

test('after timeoutMs, a call that hangs is cut', async () => {
  const { auth, scene, cookie, listen } = await openScene()
  const node = await listen()
  const { closed, call, messages } = await openSocket(node, cookie)
  const hanging = overHttp(node, cookie).calls.never.mutate()
  call(1, 'never')
  await soon(() => expect(scene.begun).toBe(2))
  const drained = drainNode(auth, node, 100)
  await expect(hanging).rejects.toThrow()
  expect(await closed).toBe(1006)
  await drained
  expect(messages).toEqual([RECONNECT])
})

test('a process that only guards calls passes its database, and its subscriptions end too', async () => {
  const { auth, cookie, listen } = await openScene()
  const node = await listen()
  const stream = openStream(overHttp(node, cookie).streams.events)
  await stream.first
  const database = { ...auth.database, close: auth.close }
  const drained = drain({ ...node, auth: database, timeoutMs: 50_000 })
  expect(await stream.ended).toMatchObject({ auth: { reason: 'SESSIONS_UNAVAILABLE' } })
  await drained
  await expect(auth.db.selectFrom('user').select('id').execute()).rejects.toThrow()
})

test.each(['listen', 'listenWithFastify'] as const)(
  '%s: without `sockets`, those of its servers are cut after timeoutMs',
  async (adapter) => {
    const { auth, cookie, ...servers } = await openScene()
    const [node, other] = [await servers[adapter](), await servers[adapter]()]
    const [{ closed }, { socket }] = [await openSocket(node, cookie), await openSocket(other, cookie)]
    await drain({ auth, server: node.server, timeoutMs: 50 })
    await soon(() => expect(node.sockets.clients.size).toBe(0))
    expect(await closed).toBe(1006)
    expect(socket.readyState).toBe(WebSocket.OPEN)
    socket.terminate()
    other.server.close()
  },
)

test('a second drain waits for the first', async () => {
  const { auth, listen } = await openScene()
  const node = await listen()
  const drained = drainNode(auth, node)
  expect(drainNode(auth, node, 1)).toBe(drained)
  await drained
})

test.each([
  { state: 'never listened', port: null },
  { state: 'is still resolving its host name', port: 0 },
])('a server that $state stops at once', async ({ port }) => {
  const { auth } = await openScene()
  const server = createServer()
  const closed = port !== null && once(server, 'close')
  if (port !== null) server.listen(port, 'localhost')
  await drain({ auth, server })
  await expect(auth.db.selectFrom('user').select('id').execute()).rejects.toThrow()
  await closed
  expect(server.listening).toBe(false)
})

test('rejects an invalid timeout, and stops nothing', async () => {
  const { auth, listen } = await openScene()
  const node = await listen()
  expect(() => drainNode(auth, node, 0)).toThrow('drain: timeoutMs')
  expect((await fetch(`http://${node.host}/healthz`)).status).toBe(200)
  await drainNode(auth, node)
})

describe('a server that opens its database at the first call', () => {
  const app = createTestAuth()
  /** Creates copies of the module that creates `auth`. */
  async function create(copies: number, open: () => Promise<OwnedDatabase> = () => openSqlite(':memory:')) {
    const { definition, config } = await app
    const name = crypto.randomUUID()
    const servers = Array.from({ length: copies }, () => {
      const auth = createAuth(definition, open, { name, pruneEverySeconds: 0 })
      onTestFinished(() => auth.close())
      const router = initTRPC.create().router({})
      const handle = createHandler({ auth, config, router, createContext: () => ({}) })
      const health = async () => {
        const response = await handle(new Request(`${ORIGIN}/healthz`))
        return [response.status, await response.json()]
      }
      return { auth, health }
    })
    return servers as [(typeof servers)[0], (typeof servers)[0]]
  }
  const DRAINING = [503, { ok: false, draining: true }]

  test('responds to /healthz before, and is not ready while it stops', async () => {
    const [{ auth, health }] = await create(1)
    expect(await health()).toMatchObject([200, { ok: true }])
    const drained = drain({ auth, timeoutMs: 100 })
    expect(await health()).toEqual(DRAINING)
    await drained
    expect(await health()).toEqual(DRAINING)
  })

  test('stops before it is open, and ends the streams of a database that opens meanwhile', async () => {
    const opened = Promise.withResolvers<OwnedDatabase>()
    const [{ auth }, copy] = await create(2, () => opened.promise)
    void copy.auth.ready().catch(() => {})
    const ready = auth.ready()
    // Stops the clock, so the database opens in time.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    onTestFinished(() => clock.mockRestore())
    const drained = drain({ auth, timeoutMs: 100 })
    opened.resolve(await openSqlite(':memory:'))
    await ready
    await soon(async () => expect(await copy.health()).toEqual(DRAINING))
    clock.mockRestore()
    await drained
  })

  test('has the codes of an outage in /healthz, and stops during one', async () => {
    const open = () => Promise.reject(Object.assign(new Error('Refused'), { code: 'ECONNREFUSED' }))
    const [{ auth, health }] = await create(1, open)
    expect(await health()).toMatchObject([503, { ok: false, read: 'DATABASE_UNAVAILABLE' }])
    await drain({ auth, timeoutMs: 100 })
    expect(await health()).toEqual(DRAINING)
  })

  test('is not ready either in another copy of the module that creates `auth`', async () => {
    const [first, copy] = await create(2)
    await Promise.all([first.auth.ready(), copy.auth.ready()])
    expect(await copy.health()).toMatchObject([200, { ok: true }])
    const drained = drain({ auth: first.auth, timeoutMs: 100 })
    expect(await copy.health()).toEqual(DRAINING)
    await drained
  })
})

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bearer, webSocketLink } from '@sallyport/trpc/client'
import { createTRPCClient, createWSClient, wsLink } from '@trpc/client'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest'
import { WebSocket as NodeWebSocket } from 'ws'
import { eventually } from '../../../core/test/support/eventually.ts'
import { until } from '../../../core/test/support/until.ts'
import { clientSession } from '../../src/client/client-session.ts'
import { callEndpoint, withCookiesOf } from '../support/call-endpoint.ts'
import { followNumbers } from '../support/follow-numbers.ts'
import { type ClientScene, openClient, openSignedIn, pause } from '../support/open-client.ts'
import type { AppRouter } from '../support/router.ts'
import { soon } from '../support/soon.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { browser, ORIGIN } from '../support/visitor.ts'

const server = await startServer()
const ada = await server.auth.createUser()
// The shortest delays.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0))
afterEach(() => {
  vi.restoreAllMocks()
  return server.clear()
})
afterAll(() => server.close())

const signedIn = (user: { userId?: string } = ada) => openSignedIn(server, user)

const OPEN = 1
const statesOf = ({ sockets }: ClientScene) => sockets.map(({ socket }) => socket.readyState === OPEN)

describe('the socket', () => {
  test('is opened by the first call, and serves the next ones', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    expect(scene.sockets).toEqual([])
    expect(await Promise.all([client.me.query(), client.me.query()])).toEqual([ada.userId, ada.userId])
    expect(await client.me.query()).toBe(ada.userId)
    expect(scene.sockets).toHaveLength(1)
  })

  test('is opened with fresh cookies', async () => {
    const session = await server.auth.signIn(ada)
    const hydrate = { status: 'authenticated', ...session, expiresIn: 0 } as const
    const expired = await server.auth.expireJwt(session)
    const scene = openClient(server, expired, { hydrate })
    const client = createTRPCClient<AppRouter>({
      links: [webSocketLink(scene.authClient, { url: `ws://${server.host}/ws`, WebSocket: scene.WebSocket })],
    })
    expect(await client.me.query()).toBe(ada.userId)
    expect(scene.sockets).toHaveLength(1)
    expect(scene.sockets[0]?.cookie).not.toContain(expired.token)
  })

  test("sends a program's headers with each upgrade", async () => {
    const session = await server.auth.signIn(ada)
    const scene = openClient(server, session)
    const headers = () => ({ origin: ORIGIN, cookie: session.cookie })
    const client = scene.connectOver(
      webSocketLink(scene.authClient, { url: `ws://${server.host}/ws`, headers }),
    )
    expect(await client.me.query()).toBe(ada.userId)
  })

  test('is closed when no call needs it with `lazy`, and opened by the next call', async () => {
    const scene = await signedIn()
    const lazy = { enabled: true, closeMs: 0 }
    const client = scene.connectOver(
      webSocketLink(scene.authClient, { url: `ws://${server.host}/ws`, WebSocket: scene.WebSocket, lazy }),
    )
    expect(await client.me.query()).toBe(ada.userId)
    await eventually(() => expect(statesOf(scene)).toEqual([false]))
    const newest = (await server.auth.signIn(ada)).token
    scene.jar.set('marker', newest)
    expect(await client.me.query()).toBe(ada.userId)
    expect(scene.sockets[1]?.cookie).toContain(newest)
    await eventually(() => expect(statesOf(scene)).toEqual([false, false]))
  })

  test('that is lazy lets a program end', async () => {
    const { cookie } = await server.auth.signIn(ada)
    const program = fileURLToPath(new URL('../fixtures/lazy-socket.ts', import.meta.url))
    const run = promisify(execFile)(process.execPath, [program, server.host, cookie], { timeout: 20_000 })
    expect((await run).stdout).toBe(`${ada.userId}\n`)
  })

  test('is reopened with fresh cookies when it was lost', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    await client.me.query()
    const newest = (await server.auth.signIn(ada)).token
    scene.jar.set('marker', newest)
    scene.breakConnections()
    await eventually(() => expect(scene.sockets).toHaveLength(2))
    expect(scene.sockets[1]?.cookie).toContain(newest)
    expect(await client.me.query()).toBe(ada.userId)
  })

  test('is not reopened with the cookies of another user after a return from the history', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    await client.me.query()
    scene.intercept = (path) => (path === 'token' ? Promise.reject(new TypeError('offline')) : undefined)
    scene.authClient[clientSession].emit({ type: 'stale' })
    scene.breakConnections()
    await eventually(() => expect(scene.count('token')).toBe(2))
    await pause()
    expect(scene.sockets).toHaveLength(1)
    scene.intercept = () => undefined
    await scene.authClient.refresh()
    await eventually(() => expect(scene.sockets).toHaveLength(2))
    expect(await client.me.query()).toBe(ada.userId)
  })

  test('is not opened after a ban and a return from the history, and calls get the reason', async () => {
    const grace = await server.auth.signIn()
    const scene = await signedIn(grace)
    const client = scene.connect('webSocketLink')
    await client.me.query()
    await server.auth.ban(grace)
    await eventually(() => expect(scene.authClient.getState().error?.code).toBe('ACCOUNT_BANNED'))
    scene.authClient[clientSession].emit({ type: 'stale' })
    await expect(client.me.query()).rejects.toMatchObject({ data: { auth: { reason: 'ACCOUNT_BANNED' } } })
    expect(statesOf(scene)).not.toContain(true)
  })

  test('stays open when there is a newer JWT', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    await client.me.query()
    await scene.authClient.refresh()
    await client.me.query()
    expect(statesOf(scene)).toEqual([true])
  })

  test('stays open when a call is rejected without a valid session', async () => {
    const scene = openClient(server)
    const client = scene.connect('webSocketLink')
    await scene.authClient.refresh()
    await expect(client.me.query()).rejects.toMatchObject({ data: { auth: { reason: 'SESSION_NOT_FOUND' } } })
    expect(await client.whoami.query()).toBeNull()
    expect(statesOf(scene)).toEqual([true])
  })

  test('is unsubscribed and closed before the request of a sign-out', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    followNumbers(client)
    await eventually(() => expect(server.stage.ticker.listenerCount('count')).toBe(1))
    let atSignOut: unknown
    scene.intercept = (path) => {
      if (path === 'sign-out') atSignOut = [scene.frames.at(-1), statesOf(scene)]
      return undefined
    }
    await scene.authClient.signOut()
    expect(atSignOut).toEqual([expect.stringContaining('subscription.stop'), [false]])
    expect(scene.sockets).toHaveLength(1)
  })

  test('is reopened for the user who signs in next', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    await client.me.query()
    await scene.authClient.signOut()
    const grace = await server.auth.signIn()
    await scene.signIn(grace)
    expect(scene.sockets).toHaveLength(1)
    expect(await client.me.query()).toBe(grace.userId)
    expect(statesOf(scene)).toEqual([false, true])
  })

  test('is closed when another user signs in, even with pending calls', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    await client.health.query()
    server.stage.closeGate()
    const slow = client.slow.query()
    slow.catch(() => {})
    await soon(() => expect(scene.frames.at(-1)).toContain('slow'))
    await scene.signIn(await server.auth.signIn())
    await expect(slow).rejects.toMatchObject({ data: { code: 'CLIENT_CLOSED_REQUEST' } })
    await soon(() => expect(server.sockets.size).toBe(0))
  })

  test('waits for pending calls when the user signs out', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    await client.health.query()
    server.stage.closeGate()
    const written = client.slowWrite.mutate()
    await soon(() => expect(scene.frames.at(-1)).toContain('slowWrite'))
    const answered = Promise.withResolvers<Response>()
    scene.intercept = (path) => (path === 'sign-out' ? answered.promise : undefined)
    const signedOut = scene.authClient.signOut()
    server.stage.openGate()
    expect(await written).toBe('written')
    await soon(() => expect(server.sockets.size).toBe(0))
    answered.resolve(Response.json({ success: true }))
    await signedOut
  })

  test('is not opened if the user signs out while it waits for a JWT', async () => {
    const session = await server.auth.signIn(ada)
    const scene = openClient(server, session, {
      hydrate: { status: 'authenticated', ...session, expiresIn: 0 },
    })
    const renewed = Promise.withResolvers<void>()
    scene.intercept = (path, send) => (path === 'token' ? renewed.promise.then(send) : undefined)
    const client = createTRPCClient<AppRouter>({
      links: [webSocketLink(scene.authClient, { url: `ws://${server.host}/ws`, WebSocket: scene.WebSocket })],
    })
    const call = client.me.query()
    call.catch(() => {})
    await soon(() => expect(scene.count('token')).toBe(1))
    const signedOut = scene.authClient.signOut()
    renewed.resolve()
    await signedOut
    await expect(call).rejects.toThrow()
    await pause()
    expect(scene.sockets).toEqual([])
  })
})

describe('a socket that was opened with a rejected JWT', () => {
  /** Opens a browser whose client doesn't know that the JWT has expired. */
  async function rejectedScene() {
    const scene = await signedIn()
    scene.take(await server.auth.expireJwt(scene.session))
    return Object.assign(scene, { client: scene.connect('webSocketLink') })
  }

  test('is replaced before the call is sent again', async () => {
    const scene = await rejectedScene()
    expect(await scene.client.me.query()).toBe(ada.userId)
    expect(scene.count('token')).toBe(2)
    await soon(() => expect(statesOf(scene)).toEqual([false, true]))
  })

  test('is replaced once for many calls', async () => {
    const scene = await rejectedScene()
    await Promise.all(Array.from({ length: 30 }, () => scene.client.me.query()))
    await soon(() => expect(statesOf(scene)).toEqual([false, true]))
  })

  test('still serves calls that need no session', async () => {
    const scene = await rejectedScene()
    const { client } = scene
    const values: unknown[] = []
    const open = client.publicNumbers.subscribe(undefined, { onData: (value) => values.push(value) })
    await client.me.query()
    server.stage.count(1)
    await soon(() => expect(values).toEqual([1]))
    expect(statesOf(scene)).toEqual([true, true])
    open.unsubscribe()
    await soon(() => expect(statesOf(scene)).toEqual([false, true]))
  })
})

describe('a socket whose credentials were superseded', () => {
  const closeCodes = ({ sockets }: ClientScene) => {
    const codes: number[] = []
    for (const { socket } of sockets) socket.on('close', (code) => codes.push(code))
    return codes
  }

  /** Opens a browser with a guarded and a public subscription on one socket. */
  async function watchingScene() {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    const stream = followNumbers(client)
    const seen: unknown[] = []
    const open = client.publicNumbers.subscribe(undefined, { onData: (value) => seen.push(value) })
    onTestFinished(() => open.unsubscribe())
    server.stage.count(2)
    await eventually(() => expect(stream.values).toEqual([1, 2]))
    return { ...scene, scene, client, stream, codes: closeCodes(scene) }
  }

  test('is closed with 4401 and reopened with the new ones: no event is lost or duplicated', async () => {
    const { scene, client, stream, codes } = await watchingScene()
    await scene.authClient.api.revokeCopies()
    server.stage.count(2)
    await eventually(() => expect(stream.values).toEqual([1, 2, 3, 4]))
    await eventually(() => expect(codes).toEqual([4401]))
    expect(await client.me.query()).toBe(ada.userId)
    for (const { cookie } of scene.sockets.slice(1)) expect(cookie).toContain(scene.jar.get('service.jwt'))
    expect(scene.count('token')).toBe(1)
    expect(stream.ended()).toBeNull()
    expect(stream.states.filter((state) => state.includes('TOKEN'))).toEqual([])
  })

  test('serves no later calls, even before the server has closed it', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    await client.me.query()
    await scene.authClient.api.revokeCopies()
    expect(await client.write.mutate()).toBe('written')
    expect(scene.count('token')).toBe(1)
    expect(server.stage.runs.filter((path) => path === 'write')).toEqual(['write'])
  })

  test('reconnects with the new ones while idle, and serves later calls', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    await client.me.query()
    const open = client.publicNumbers.subscribe(undefined, { onData: () => {} })
    onTestFinished(() => open.unsubscribe())
    const codes = closeCodes(scene)
    const former = String(scene.jar.get('service.jwt'))
    const visitor = browser({ cookie: [...scene.jar].map((pair) => pair.join('=')).join('; ') })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    // Time passes in steps, so the client has read each message before its next delay is over.
    const inSteps = (isSo: () => boolean) =>
      until(() => {
        vi.advanceTimersByTime(50)
        return isSo()
      })
    const response = await callEndpoint(server, visitor, { method: 'POST', path: '/revoke-copies', body: {} })
    await inSteps(() => codes.includes(4401))
    await inSteps(() => scene.count('token') > 1)
    scene.take({ cookie: withCookiesOf(response, visitor).headers.cookie ?? '' })
    await inSteps(() => statesOf(scene)[1] === true)
    vi.useRealTimers()
    expect(statesOf(scene)).toEqual([false, true])
    expect(codes).toEqual([4401])
    expect(scene.sockets[1]?.cookie).not.toContain(former)
    expect(await client.me.query()).toBe(ada.userId)
    expect(scene.sockets).toHaveLength(2)
  })

  test('waits for the new credentials if another program of this browser changed them', async () => {
    const { scene, client, stream, codes } = await watchingScene()
    const visitor = browser({ cookie: [...scene.jar].map((pair) => pair.join('=')).join('; ') })
    const response = await callEndpoint(server, visitor, { method: 'POST', path: '/revoke-copies', body: {} })
    await eventually(() => expect(codes).toEqual([4401]))
    await eventually(() => expect(scene.count('token')).toBeGreaterThan(1))
    scene.take({ cookie: withCookiesOf(response, visitor).headers.cookie ?? '' })
    server.stage.count(2)
    await eventually(() => expect(stream.values).toEqual([1, 2, 3, 4]))
    expect(await client.me.query()).toBe(ada.userId)
    expect(scene.authClient.getState()).toMatchObject({ status: 'authenticated', error: null })
  })

  test('fails pending calls, and sends no mutation twice', async () => {
    const { scene, client } = await watchingScene()
    server.stage.closeGate()
    const written = client.slowWrite.mutate().catch((error: unknown) => error)
    await soon(() => expect(scene.frames.at(-1)).toContain('slowWrite'))
    await scene.authClient.api.revokeCopies()
    await written
    server.stage.openGate()
    await client.me.query()
    expect(scene.frames.filter((frame) => frame.includes('slowWrite'))).toHaveLength(1)
  })

  test("also recovers with tRPC's own link", async () => {
    const scene = await signedIn()
    let changed: Promise<unknown> = Promise.resolve()
    const wsClient = createWSClient({
      async url() {
        await changed
        return `ws://${server.host}/ws`
      },
      WebSocket: scene.WebSocket,
    })
    const client = createTRPCClient<AppRouter>({ links: [wsLink({ client: wsClient })] })
    onTestFinished(() => wsClient.close())
    expect(await client.me.query()).toBe(ada.userId)
    const codes = closeCodes(scene)
    changed = scene.authClient.api.revokeCopies()
    await eventually(() => expect(scene.sockets).toHaveLength(2))
    await eventually(() => expect(codes).toHaveLength(1))
    await eventually(async () => expect(await client.me.query()).toBe(ada.userId))
    expect(codes).not.toContain(1006)
  })
})

describe('a mutation in an outage', () => {
  async function open() {
    const scene = await signedIn()
    const network = { host: server.host }
    const url = () => `ws://${network.host}/ws`
    const client = scene.connectOver(webSocketLink(scene.authClient, { url, WebSocket: scene.WebSocket }))
    expect(await client.me.query()).toBe(ada.userId)
    const lose = async () => {
      scene.breakConnections()
      await eventually(() => expect(statesOf(scene)).not.toContain(true))
    }
    return {
      scene,
      network,
      client,
      lose,
      sent: () => scene.frames.filter((frame) => /mutation/.test(frame)),
    }
  }

  test('fails once a reconnect has failed, and is never sent; queries wait', async () => {
    const { network, client, lose, sent } = await open()
    network.host = 'localhost:1'
    await lose()
    const query = client.me.query()
    const unavailable = { data: { httpStatus: 503, auth: { reason: 'SESSIONS_UNAVAILABLE' } } }
    await expect(client.write.mutate()).rejects.toMatchObject(unavailable)
    // A later one fails at once, so it isn't sent when the connection returns.
    const later = client.write.mutate()
    network.host = server.host
    await expect(later).rejects.toMatchObject(unavailable)
    expect(await query).toBe(ada.userId)
    expect(await client.write.mutate()).toBe('written')
    expect(sent()).toHaveLength(1)
  })

  test('is sent if the first reconnect succeeds', async () => {
    const { client, lose } = await open()
    await lose()
    expect(await client.write.mutate()).toBe('written')
  })
})

describe('a banned user', () => {
  test("is shown by the socket's close code, and the socket is not reopened", async () => {
    const scene = await signedIn({})
    await scene.connect('webSocketLink').me.query()
    await server.auth.ban(scene.session)
    await soon(() => expect(scene.authClient.getState().error?.code).toBe('ACCOUNT_BANNED'))
    await pause()
    expect(statesOf(scene)).toEqual([false])
  })

  test('gets the reason in subscriptions that reconnect after a return from the history', async () => {
    const scene = await signedIn({})
    const stream = followNumbers(scene.connect('webSocketLink'))
    server.stage.count(1)
    await eventually(() => expect(stream.values).toEqual([1]))
    scene.authClient[clientSession].emit({ type: 'stale' })
    scene.breakConnections()
    await server.auth.ban(scene.session)
    await eventually(() => expect(stream.ended()).toBe('ACCOUNT_BANNED'))
  })

  test('may call again after the ban was lifted', async () => {
    const scene = await signedIn({})
    const client = scene.connect('webSocketLink')
    await client.me.query()
    await server.auth.ban(scene.session)
    await soon(() => expect(scene.authClient.getState().error?.code).toBe('ACCOUNT_BANNED'))
    await server.auth.db
      .updateTable('user')
      .set({ banned: false })
      .where('id', '=', scene.session.userId)
      .execute()
    expect(await client.me.query()).toBe(scene.session.userId)
  })
})

test('100 subscriptions continue on one socket after a lost connection', async () => {
  const scene = await signedIn()
  const client = scene.connect('webSocketLink')
  const streams = Array.from({ length: 100 }, () => followNumbers(client))
  server.stage.count(1)
  await eventually(() => expect(streams.map(({ values }) => values)).toEqual(Array(100).fill([1])))
  scene.breakConnections()
  server.stage.count(1)
  await eventually(() => expect(streams.map(({ values }) => values)).toEqual(Array(100).fill([1, 2])))
  expect(statesOf(scene)).toEqual([false, true])
  expect(streams.map(({ ended }) => ended())).toEqual(Array(100).fill(null))
  for (const frame of scene.frames) expect(JSON.parse(frame)).not.toBeInstanceOf(Array)
})

test('a subscription continues after an outage in which its socket was reopened with a rejected JWT', async () => {
  const scene = await signedIn()
  const stream = followNumbers(scene.connect('webSocketLink'))
  server.stage.count(1)
  await eventually(() => expect(stream.values).toEqual([1]))
  scene.take(await server.auth.expireJwt(scene.session))
  scene.intercept = (path) => (path === 'token' ? Promise.reject(new TypeError('offline')) : undefined)
  scene.breakConnections()
  await eventually(() => expect(stream.states.at(-1)).toMatch('connecting: SESSIONS_UNAVAILABLE'))
  scene.breakConnections()
  await eventually(() => expect(statesOf(scene)).toEqual([false, false, true]))
  scene.intercept = () => undefined
  await scene.authClient.refresh()
  server.stage.count(1)
  await eventually(() => expect(stream.values).toEqual([1, 2]))
  expect(stream.ended()).toBeNull()
})

describe('with bearer transport', () => {
  let bearerServer: TestServer
  beforeAll(async () => {
    bearerServer = await startServer({ bearer: true })
  })
  afterEach(() => bearerServer.clear())
  afterAll(() => bearerServer.close())

  test('the token is in the first message, and never in the URL', async () => {
    const session = await bearerServer.auth.signIn()
    const kept = new Map<string, string>()
    const storage = {
      getItem: (key: string) => kept.get(key),
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    }
    const scene = openClient(bearerServer, undefined, { transport: bearer(storage) })
    const { token, sessionCookie, userId, sessionId } = session
    const receipt = { userId, sessionId, expiresIn: 900, seq: Date.now(), token, sessionToken: sessionCookie }
    kept.set(`sallyport http://${bearerServer.host}`, JSON.stringify(receipt))
    const client = scene.connect('webSocketLink')
    expect(await client.me.query()).toBe(session.userId)
    const [socket] = scene.sockets
    expect(socket?.url).not.toContain(token)
    expect(socket?.cookie).toBe('')
    expect(JSON.parse(scene.frames[0] ?? '')).toEqual({ method: 'connectionParams', data: { token } })
  })
})

test('an unreachable server is retried with growing delays', async () => {
  const scene = await signedIn()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let attempts = 0
  const NoSocket: unknown = class extends EventTarget {
    static readonly OPEN = 1
    readonly readyState = 3
    constructor() {
      super()
      attempts++
      setTimeout(() => this.dispatchEvent(new Event('error')))
    }
    close() {}
  }
  const options = { url: 'ws://localhost', WebSocket: NoSocket as typeof WebSocket }
  const call = scene.connectOver(webSocketLink(scene.authClient, options)).me.query()
  call.catch(() => {})
  await vi.advanceTimersByTimeAsync(0)
  const counts = [attempts]
  for (const pause of [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]) {
    await vi.advanceTimersByTimeAsync(pause - 1)
    counts.push(attempts)
    await vi.advanceTimersByTimeAsync(1)
  }
  expect(counts).toEqual([1, 1, 2, 3, 4, 5, 6, 7])
})

test("Node's own WebSocket works", async () => {
  const scene = await signedIn()
  const NodeSocket: unknown = class extends globalThis.WebSocket {
    constructor(url: string | URL) {
      const cookie = [...scene.jar].map((pair) => pair.join('=')).join('; ')
      const init: object = { headers: { origin: ORIGIN, cookie } }
      super(url, init as never)
    }
  }
  const client = scene.connectOver(
    webSocketLink(scene.authClient, {
      url: `ws://${server.host}/ws`,
      WebSocket: NodeSocket as typeof WebSocket,
    }),
  )
  scene.take(await server.auth.expireJwt(scene.session))
  expect(await client.me.query()).toBe(ada.userId)
  const stream = followNumbers(client)
  server.stage.count(2)
  await soon(() => expect(stream.values).toEqual([1, 2]))
  for (const socket of server.sockets) socket.terminate()
  server.stage.count(1)
  await eventually(() => expect(stream.values).toEqual([1, 2, 3]))
  await scene.authClient.signOut()
  await soon(() => expect(server.sockets.size).toBe(0))
})

test("the app's options reach tRPC", async () => {
  const scene = await signedIn()
  const onOpen = vi.fn()
  const onClose = vi.fn()
  const client = scene.connectOver(
    webSocketLink(scene.authClient, {
      url: async () => `ws://${server.host}/ws`,
      WebSocket: scene.WebSocket,
      retryDelayMs: () => 0,
      onOpen,
      onClose,
    }),
  )
  await client.me.query()
  scene.breakConnections()
  await soon(() => expect(onOpen).toHaveBeenCalledTimes(2))
  expect(scene.sockets).toHaveLength(2)
  expect(onClose).toHaveBeenCalledOnce()
})

describe('a page with an origin that the server rejects', () => {
  const PAGE = 'http://www.example.com'

  /** Opens a browser on a page of that origin. Its HTTP is same-origin, and its upgrades carry the origin. */
  async function openPage(origin: string) {
    vi.stubGlobal('location', { origin })
    onTestFinished(() => void vi.unstubAllGlobals())
    const scene = await signedIn()
    const attempts: NodeWebSocket[] = []
    const PageSocket: unknown = class extends NodeWebSocket {
      constructor(url: string | URL) {
        super(url, { headers: { origin, cookie: [...scene.jar].map((pair) => pair.join('=')).join('; ') } })
        attempts.push(this)
      }
    }
    const client = scene.connectOver(
      webSocketLink(scene.authClient, {
        url: `ws://${server.host}/ws`,
        WebSocket: PageSocket as typeof WebSocket,
        retryDelayMs: () => 5,
      }),
    )
    return { scene, attempts, client }
  }

  const REJECTED = {
    message: expect.stringMatching(/WebSockets from http:\/\/www\.example\.com.*allowedOrigins/),
    data: { code: 'FORBIDDEN', httpStatus: 403, auth: { reason: 'ORIGIN_REJECTED' } },
  }

  test('stops retrying: calls and subscriptions get ORIGIN_REJECTED with the fix, and the session goes on', async () => {
    const { scene, attempts, client } = await openPage(PAGE)
    const onError = vi.fn()
    client.clock.subscribe(undefined, { onError })
    await expect(client.me.query()).rejects.toMatchObject(REJECTED)
    await eventually(() => expect(onError).toHaveBeenCalledOnce())
    expect(onError.mock.lastCall?.[0]).toMatchObject(REJECTED)

    const { length } = attempts
    await scene.authClient.refresh()
    await expect(client.me.query()).rejects.toMatchObject(REJECTED)
    await expect(client.write.mutate()).rejects.toMatchObject(REJECTED)
    await pause()
    expect(attempts).toHaveLength(length)
    expect(scene.authClient.getState()).toMatchObject({ status: 'authenticated', error: null })
  })

  test('differs from an outage, which the link retries', async () => {
    const { scene, attempts, client } = await openPage(PAGE)
    scene.intercept = (path) => (path === 'session' ? Promise.reject(new TypeError('down')) : undefined)
    const answer = client.me.query().catch((error: Error) => error.message)
    await eventually(() => expect(attempts.length).toBeGreaterThan(2))
    scene.intercept = () => undefined
    expect(await answer).toMatch('allowedOrigins')
  })

  test.each(['http://127.0.0.1:3000', 'http://[::1]:3000'])('is not %s in development', async (origin) => {
    const { client } = await openPage(origin)
    expect(await client.me.query()).toBe(ada.userId)
  })
})

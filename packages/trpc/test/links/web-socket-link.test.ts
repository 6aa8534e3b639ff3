import { bearer } from '@sallyport/trpc/client'
import { webSocketLink } from '@sallyport/trpc/links'
import { createTRPCClient } from '@trpc/client'
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
import { deferred } from '../support/deferred.ts'
import { eventually } from '../support/eventually.ts'
import { followNumbers } from '../support/follow-numbers.ts'
import { type ClientScene, openClient, openSignedIn, pause } from '../support/open-client.ts'
import type { AppRouter } from '../support/router.ts'
import { soon } from '../support/soon.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { ORIGIN } from '../support/visitor.ts'

let server: TestServer
let ada: { userId: string }
beforeAll(async () => {
  server = await startServer()
  ada = await server.auth.createUser()
})
// The shortest pauses that there are.
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
  test('is opened by the first call, and serves those that follow', async () => {
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

  test('is opened again with fresh cookies when it was lost', async () => {
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

  test('stays when there is a newer JWT', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    await client.me.query()
    await scene.authClient.refresh()
    await client.me.query()
    expect(statesOf(scene)).toEqual([true])
  })

  test('stays when a call is refused whose JWT is none', async () => {
    const scene = openClient(server)
    const client = scene.connect('webSocketLink')
    await scene.authClient.refresh()
    await expect(client.me.query()).rejects.toMatchObject({ data: { auth: { reason: 'SESSION_NOT_FOUND' } } })
    expect(await client.whoami.query()).toBeNull()
    expect(statesOf(scene)).toEqual([true])
  })

  test('is unsubscribed and closed before the server is told of a sign-out', async () => {
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

  test('is opened anew for the user who signs in next', async () => {
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

  test('is closed when another user signs in, whatever is still under way', async () => {
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

  test('waits for what is under way when the user signs out', async () => {
    const scene = await signedIn()
    const client = scene.connect('webSocketLink')
    await client.health.query()
    server.stage.closeGate()
    const written = client.slowWrite.mutate()
    await soon(() => expect(scene.frames.at(-1)).toContain('slowWrite'))
    const answered = deferred<Response>()
    scene.intercept = (path) => (path === 'sign-out' ? answered.promise : undefined)
    const signedOut = scene.authClient.signOut()
    server.stage.openGate()
    expect(await written).toBe('written')
    await soon(() => expect(server.sockets.size).toBe(0))
    answered.resolve(Response.json({ success: true }))
    await signedOut
  })

  test('is not opened where the user signs out while it waits for a JWT', async () => {
    const session = await server.auth.signIn(ada)
    const scene = openClient(server, session, {
      hydrate: { status: 'authenticated', ...session, expiresIn: 0 },
    })
    const renewed = deferred<void>()
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

describe('a socket that was opened with a JWT which the server refuses', () => {
  /** Its client does not know that the JWT has expired. */
  async function refusedScene() {
    const scene = await signedIn()
    scene.take(await server.auth.expireJwt(scene.session))
    return Object.assign(scene, { client: scene.connect('webSocketLink') })
  }

  test('is replaced before the call is sent again', async () => {
    const scene = await refusedScene()
    expect(await scene.client.me.query()).toBe(ada.userId)
    expect(scene.count('token')).toBe(2)
    await soon(() => expect(statesOf(scene)).toEqual([false, true]))
  })

  test('is replaced once for many calls', async () => {
    const scene = await refusedScene()
    await Promise.all(Array.from({ length: 30 }, () => scene.client.me.query()))
    await soon(() => expect(statesOf(scene)).toEqual([false, true]))
  })

  test('still answers what needs no session', async () => {
    const scene = await refusedScene()
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

describe('a banned user', () => {
  test('is shown so by the code that the socket is closed with, and it is not opened again', async () => {
    const scene = await signedIn({})
    await scene.connect('webSocketLink').me.query()
    await server.auth.ban(scene.session)
    await soon(() => expect(scene.authClient.getState().error?.code).toBe('ACCOUNT_BANNED'))
    await pause()
    expect(statesOf(scene)).toEqual([false])
  })

  test('may call again when the ban was lifted', async () => {
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

test('more subscriptions than a frame may hold go on when the connection was lost', async () => {
  const scene = await signedIn()
  const client = scene.connect('webSocketLink')
  const streams = Array.from({ length: 25 }, () => followNumbers(client))
  server.stage.count(1)
  await eventually(() => expect(streams.map(({ values }) => values)).toEqual(Array(25).fill([1])))
  scene.breakConnections()
  server.stage.count(1)
  await eventually(() => expect(streams.map(({ values }) => values)).toEqual(Array(25).fill([1, 2])))
  for (const frame of scene.frames) expect(JSON.parse(frame)).not.toBeInstanceOf(Array)
})

describe('with bearer transport', () => {
  let bearerServer: TestServer
  beforeAll(async () => {
    bearerServer = await startServer({ bearer: true })
  })
  afterEach(() => bearerServer.clear())
  afterAll(() => bearerServer.close())

  test('the token travels in the first message, and never in the URL', async () => {
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

test('a server out of reach is tried later and later', async () => {
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

test("Node's own WebSocket will do", async () => {
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

test("the app's own options reach tRPC", async () => {
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

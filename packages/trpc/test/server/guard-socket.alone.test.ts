import { authStore } from '@sallyport/core/internal/server'
import { TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { createAuthContext } from '@sallyport/trpc'
import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { authRequest } from '../../src/server/auth-handle.ts'
import { callEndpoint } from '../support/call-endpoint.ts'
import { soon } from '../support/soon.ts'
import { startServer } from '../support/start-server.ts'
import { browser } from '../support/visitor.ts'

const server = await startServer()
afterEach(async () => {
  await server.clear()
  await soon(() => expect(server.feed.listeners).toBe(0))
})
afterAll(() => server.close())

/** A frame of the server, or the close of the connection. */
type Received =
  | { id: number; value: unknown }
  | { id: number; reason: string | null }
  | { method: string }
  | { closed: string }

/** A connection on the wire. */
interface Line {
  readonly received: Received[]
  send(id: number, method: 'query' | 'subscription', path: string): void
  hangUp(): void
}

async function connect(session: Pick<TestSession, 'cookie'> | undefined): Promise<Line> {
  const socket = new WebSocket(`ws://${server.host}/ws`, { headers: browser(session).headers })
  const received: Received[] = []
  socket.on('message', (message) => {
    const { id, method, result, error } = JSON.parse(String(message))
    if (method !== undefined) received.push({ method })
    else if (error !== undefined) received.push({ id, reason: error.data.auth?.reason ?? null })
    else if (result.type === 'data') received.push({ id, value: result.data })
  })
  socket.on('close', (code, reason) => received.push({ closed: `${code} ${reason}` }))
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return {
    received,
    send: (id, method, path) => socket.send(JSON.stringify({ id, method, params: { path } })),
    hangUp: () => socket.terminate(),
  }
}

/** Connects and makes an accepted call. */
async function connectAndCall(session: TestSession): Promise<Line> {
  const line = await connect(session)
  line.send(1, 'query', 'me')
  await soon(() => expect(line.received).toEqual([{ id: 1, value: session.userId }]))
  return line
}

const CLOSED = { closed: '4403 ACCOUNT_BANNED' }
const setUser = (userId: string, user: { role?: string }) =>
  server.auth.db.updateTable('user').set(user).where('id', '=', userId).execute()

describe("a banned user's socket is closed with 4403", () => {
  test('while it is idle', async () => {
    const session = await server.auth.signIn()
    const { received } = await connectAndCall(session)
    await server.auth.ban(session)
    await soon(() => expect(received.at(-1)).toEqual(CLOSED))
  })

  test('after the errors of all its streams', async () => {
    const session = await server.auth.signIn()
    const { received, send } = await connect(session)
    const paths = ['clock', 'observableClock', 'deaf', 'stubborn', 'trackedClock']
    paths.forEach((path, id) => void send(id, 'subscription', path))
    await soon(() => expect(received).toHaveLength(paths.length))
    await server.auth.ban(session)
    server.stage.ticker.emit('tick', 'late')
    await soon(() => expect(received.at(-1)).toEqual(CLOSED))
    const rejections = received.slice(paths.length, -1)
    expect(rejections).toHaveLength(paths.length)
    expect(rejections).toEqual(
      expect.arrayContaining(paths.map((_path, id) => ({ id, reason: 'ACCOUNT_BANNED' }))),
    )
  })

  test('after the response to the call that it rejects', async () => {
    const session = await server.auth.signIn()
    await server.auth.ban(session)
    const { received, send } = await connect(session)
    send(1, 'query', 'me')
    await soon(() => expect(received).toEqual([{ id: 1, reason: 'ACCOUNT_BANNED' }, CLOSED]))
  })

  test('after the errors of its calls and streams that learn of the ban much later', async () => {
    const session = await server.auth.signIn()
    const late = Array.from({ length: 5 }, (_, index) => index + 2)
    const lookups = late.map(() => Promise.withResolvers<void>())
    const { received, send } = await connectAndCall(session)
    const waiting = [...lookups]
    // Stops the clock: on a busy machine, the socket waits no longer than on an idle one.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    server.store.answer = async (find) => {
      await waiting.shift()?.promise
      return find()
    }
    for (const id of late) send(id, id % 2 ? 'query' : 'subscription', id % 2 ? 'me' : 'clock')
    await soon(() => expect(waiting).toEqual([]))
    await server.auth.ban(session)
    // Longer than the socket of an idle client would stay open.
    await new Promise((resolve) => setTimeout(resolve, 300))
    for (const { resolve } of lookups) resolve()
    await soon(() => expect(received.at(-1)).toEqual(CLOSED))
    server.store.answer = null
    expect(received.slice(1, -1)).toHaveLength(late.length)
    expect(received).toEqual(expect.arrayContaining(late.map((id) => ({ id, reason: 'ACCOUNT_BANNED' }))))
  })

  test('in every window, but not those of other users', async () => {
    const session = await server.auth.signIn()
    const elsewhere = await server.auth.signIn({ userId: session.userId })
    const stranger = await server.auth.signIn()
    const lines = [
      await connectAndCall(session),
      await connectAndCall(session),
      await connectAndCall(elsewhere),
    ]
    const other = await connectAndCall(stranger)
    await server.auth.ban(session)
    for (const { received } of lines) await soon(() => expect(received.at(-1)).toEqual(CLOSED))
    other.send(2, 'query', 'me')
    await soon(() => expect(other.received.at(-1)).toEqual({ id: 2, value: stranger.userId }))
  })

  test('even if the ban happens during the first call', async () => {
    const session = await server.auth.signIn()
    server.store.answer = async (find) => {
      const found = await find()
      server.store.answer = null
      await server.auth.ban(session)
      return found
    }
    const { received, send } = await connect(session)
    send(1, 'query', 'me')
    await soon(() => expect(received.at(-1)).toEqual(CLOSED))
  })

  test('even if the database was unreachable when the ban was announced', async () => {
    const session = await server.auth.signIn()
    const { received } = await connectAndCall(session)
    server.store.answer = () => Promise.reject(new Error('down'))
    await server.auth.ban(session)
    expect(server.sockets.size).toBe(1)
    server.store.answer = null
    await soon(() => expect(received.at(-1)).toEqual(CLOSED))
  })
})

describe('a socket with replaced credentials gets a reconnect message and is closed with 4401', () => {
  const REPLACED = [{ method: 'reconnect' }, { closed: '4401 TOKEN_INVALID' }]
  const reauthenticate = (session: TestSession) =>
    callEndpoint(server, browser(session), {
      method: 'POST',
      path: '/reauthenticate',
      body: { password: TEST_PASSWORD },
    })

  test('while it is idle', async () => {
    const session = await server.auth.signIn()
    const { received } = await connectAndCall(session)
    await reauthenticate(session)
    await soon(() => expect(received.slice(-2)).toEqual(REPLACED))
  })

  test('after the errors of its streams', async () => {
    const session = await server.auth.signIn()
    const { received, send } = await connect(session)
    const paths = ['clock', 'observableClock', 'deaf', 'stubborn', 'trackedClock']
    paths.forEach((path, id) => void send(id, 'subscription', path))
    await soon(() => expect(received).toHaveLength(paths.length))
    await reauthenticate(session)
    server.stage.ticker.emit('tick', 'late')
    await soon(() => expect(received.at(-1)).toEqual(REPLACED[1]))
    expect(received.slice(paths.length)).toEqual(
      expect.arrayContaining([...paths.map((_path, id) => ({ id, reason: 'TOKEN_INVALID' })), REPLACED[0]]),
    )
    expect(received).not.toContainEqual(expect.objectContaining({ value: 'late' }))
  })

  test("at its next call if the change wasn't announced", async () => {
    const session = await server.auth.signIn()
    const { received, send } = await connectAndCall(session)
    await server.auth.db
      .updateTable('session')
      .set({ version: 2 })
      .where('id', '=', session.sessionId)
      .execute()
    send(2, 'query', 'me')
    await soon(() => expect(received.at(-1)).toEqual(REPLACED[1]))
    expect(received).toContainEqual({ id: 2, reason: 'TOKEN_INVALID' })
  })

  test('when the grace period of a rotation has passed, and not earlier', async () => {
    const rotating = await startServer({ session: { rotateSessionToken: true } })
    onTestFinished(() => rotating.close())
    const session = await rotating.auth.signIn()
    const socket = new WebSocket(`ws://${rotating.host}/ws`, { headers: browser(session).headers })
    const received: string[] = []
    socket.on('message', (message) => received.push(String(message)))
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    await new Promise((resolve) => socket.once('open', resolve))
    const call = (id: number) => socket.send(JSON.stringify({ id, method: 'query', params: { path: 'me' } }))
    call(1)
    await soon(() => expect(received).toHaveLength(1))
    await callEndpoint(rotating, browser(session), { method: 'GET', path: '/backend/token' })
    call(2)
    await soon(() => expect(received).toHaveLength(2))
    expect(received[1]).toContain(session.userId)
    rotating.auth.clock.advance(31)
    call(3)
    expect(await closed).toBe(4401)
    expect(received.slice(2).join()).toContain('TOKEN_INVALID')
  })

  test('but stays open for public procedures if it was opened with replaced credentials', async () => {
    const session = await server.auth.signIn()
    await reauthenticate(session)
    const { received, send } = await connect(session)
    send(1, 'query', 'me')
    await soon(() => expect(received).toEqual([{ id: 1, reason: 'TOKEN_INVALID' }]))
    await new Promise((resolve) => setTimeout(resolve, 200))
    send(2, 'query', 'health')
    await soon(() => expect(received.at(-1)).toEqual({ id: 2, value: 'ok' }))
  })
})

describe('the socket stays open', () => {
  const endings: { when: string; end: (session: TestSession) => Promise<unknown>; reason: string | null }[] =
    [
      { when: 'the session is revoked', end: (it) => server.auth.revoke(it), reason: 'SESSION_NOT_FOUND' },
      {
        when: 'the user signs out',
        end: (it) => callEndpoint(server, browser(it), { method: 'POST', path: '/sign-out' }),
        reason: 'SESSION_NOT_FOUND',
      },
      {
        when: 'the session expires',
        async end(it) {
          await server.auth.expireSession(it)
          server.feed.publish(it)
        },
        reason: 'SESSION_EXPIRED',
      },
      {
        when: 'the user loses a role',
        async end({ userId }) {
          await setUser(userId, { role: 'guest' })
          server.feed.publish({ sessionId: null, userId })
        },
        reason: null,
      },
    ]
  test.each(endings)('when $when', async ({ end, reason }) => {
    const session = await server.auth.signIn()
    const { received, send } = await connectAndCall(session)
    await end(session)
    send(2, 'query', 'me')
    await soon(() => expect(received).toHaveLength(2))
    expect(received.at(-1)).toEqual(reason === null ? { id: 2, value: session.userId } : { id: 2, reason })
    // Longer than a banned user's socket would stay open.
    await new Promise((resolve) => setTimeout(resolve, 200))
    send(3, 'query', 'health')
    await soon(() => expect(received.at(-1)).toEqual({ id: 3, value: 'ok' }))
  })
})

describe("a socket's listeners", () => {
  test('are one from the first guarded call to its end, even for many calls', async () => {
    const session = await server.auth.signIn()
    const line = await connect(session)
    line.send(1, 'query', 'health')
    await soon(() => expect(line.received).toHaveLength(1))
    expect(server.feed.listeners).toBe(0)

    const before = server.feed.subscriptions
    for (let id = 2; id < 12; id++) line.send(id, 'query', id % 2 ? 'me' : 'secret')
    line.send(12, 'subscription', 'clock')
    await soon(() => expect(line.received).toHaveLength(12))
    expect(server.feed.subscriptions).toBe(before + 1)
    expect(server.feed.listeners).toBe(1)
    line.hangUp()
    await soon(() => expect(server.feed.listeners).toBe(0))
  })

  test("are shared by a session's sockets, and removed with the last socket", async () => {
    const session = await server.auth.signIn()
    const lines = [await connectAndCall(session), await connectAndCall(session)]
    expect(server.feed.listeners).toBe(1)
    lines[0]?.hangUp()
    await soon(() => expect(server.sockets.size).toBe(1))
    expect(server.feed.listeners).toBe(1)
  })
})

describe('a socket that is about to be closed', () => {
  /** Opens a socket with two rejected calls after a ban. */
  async function rejectTwice() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(async () => {
      await vi.advanceTimersByTimeAsync(10_000)
      vi.useRealTimers()
    })
    const session = await server.auth.signIn()
    const listeners: (() => void)[] = []
    const close = vi.fn<(code: number, reason: string) => void>()
    const { auth } = createAuthContext(server.config).ws({
      req: { headers: browser(session).headers },
      info: { connectionParams: null },
      res: { readyState: 1, send: () => {}, close, on: (_event, listener) => listeners.push(listener) },
    })
    await auth[authRequest].authenticate(server.db[authStore], 'query')
    await server.auth.ban(session)
    for (const method of ['authenticate', 'authenticateFresh'] as const)
      await expect(auth[authRequest][method](server.db[authStore], 'query')).rejects.toMatchObject({
        reason: 'ACCOUNT_BANNED',
      })
    expect(close).not.toHaveBeenCalled()
    return {
      close,
      hangUp() {
        for (const listener of listeners) listener()
      },
    }
  }

  test('is closed once, even if many calls are rejected, and soon if no other call is open', async () => {
    const { close, hangUp } = await rejectTwice()
    await vi.advanceTimersByTimeAsync(100)
    expect(close).toHaveBeenCalledOnce()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(close).toHaveBeenCalledExactlyOnceWith(4403, 'ACCOUNT_BANNED')
    hangUp()
  })

  test('is not closed if its client disconnects first, and leaves no timer', async () => {
    const { close, hangUp } = await rejectTwice()
    hangUp()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(close).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })
})

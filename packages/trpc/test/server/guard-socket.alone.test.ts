import { authStore } from '@sallyport/core/internal/server'
import { TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { createAuthContext } from '@sallyport/trpc'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { authRequest } from '../../src/server/auth-handle.ts'
import { callEndpoint } from '../support/call-endpoint.ts'
import { soon } from '../support/soon.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { browser } from '../support/visitor.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterEach(async () => {
  await server.clear()
  await soon(() => expect(server.feed.listeners).toBe(0))
})
afterAll(() => server.close())

/** A frame of the server, or the close of the connection. */
type Heard =
  | { id: number; value: unknown }
  | { id: number; reason: string | null }
  | { method: string }
  | { closed: string }

/** A connection as it comes over the wire. */
interface Line {
  readonly heard: Heard[]
  send(id: number, method: 'query' | 'subscription', path: string): void
  hangUp(): void
}

async function connect(session: Pick<TestSession, 'cookie'> | undefined): Promise<Line> {
  const socket = new WebSocket(`ws://${server.host}/ws`, { headers: browser(session).headers })
  const heard: Heard[] = []
  socket.on('message', (message) => {
    const { id, method, result, error } = JSON.parse(String(message))
    if (method !== undefined) heard.push({ method })
    else if (error !== undefined) heard.push({ id, reason: error.data.auth?.reason ?? null })
    else if (result.type === 'data') heard.push({ id, value: result.data })
  })
  socket.on('close', (code, reason) => heard.push({ closed: `${code} ${reason}` }))
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return {
    heard,
    send: (id, method, path) => socket.send(JSON.stringify({ id, method, params: { path } })),
    hangUp: () => socket.terminate(),
  }
}

/** A connection on which the user has been let in. */
async function connectAndCall(session: TestSession): Promise<Line> {
  const line = await connect(session)
  line.send(1, 'query', 'me')
  await soon(() => expect(line.heard).toEqual([{ id: 1, value: session.userId }]))
  return line
}

const CLOSED = { closed: '4403 ACCOUNT_BANNED' }
const setUser = (userId: string, user: { role?: string }) =>
  server.auth.db.updateTable('user').set(user).where('id', '=', userId).execute()

describe('the socket of a user who is banned is closed with 4403', () => {
  test('while it is idle', async () => {
    const session = await server.auth.signIn()
    const { heard } = await connectAndCall(session)
    await server.auth.ban(session)
    await soon(() => expect(heard.at(-1)).toEqual(CLOSED))
  })

  test('after the errors of all its streams', async () => {
    const session = await server.auth.signIn()
    const { heard, send } = await connect(session)
    const paths = ['clock', 'observableClock', 'deaf', 'stubborn', 'trackedClock']
    paths.forEach((path, id) => void send(id, 'subscription', path))
    await soon(() => expect(heard).toHaveLength(paths.length))
    await server.auth.ban(session)
    server.stage.ticker.emit('tick', 'late')
    await soon(() => expect(heard.at(-1)).toEqual(CLOSED))
    const rejections = heard.slice(paths.length, -1)
    expect(rejections).toHaveLength(paths.length)
    expect(rejections).toEqual(
      expect.arrayContaining(paths.map((_path, id) => ({ id, reason: 'ACCOUNT_BANNED' }))),
    )
  })

  test('after the response to the call that it rejects', async () => {
    const session = await server.auth.signIn()
    await server.auth.ban(session)
    const { heard, send } = await connect(session)
    send(1, 'query', 'me')
    await soon(() => expect(heard).toEqual([{ id: 1, reason: 'ACCOUNT_BANNED' }, CLOSED]))
  })

  test('in every window, and other users keep theirs', async () => {
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
    for (const { heard } of lines) await soon(() => expect(heard.at(-1)).toEqual(CLOSED))
    other.send(2, 'query', 'me')
    await soon(() => expect(other.heard.at(-1)).toEqual({ id: 2, value: stranger.userId }))
  })

  test('although the ban came while the first call was being answered', async () => {
    const session = await server.auth.signIn()
    server.store.answer = async (find) => {
      const found = await find()
      server.store.answer = null
      await server.auth.ban(session)
      return found
    }
    const { heard, send } = await connect(session)
    send(1, 'query', 'me')
    await soon(() => expect(heard.at(-1)).toEqual(CLOSED))
  })

  test('although the database was away when the ban was announced', async () => {
    const session = await server.auth.signIn()
    const { heard } = await connectAndCall(session)
    server.store.answer = () => Promise.reject(new Error('down'))
    await server.auth.ban(session)
    expect(server.sockets.size).toBe(1)
    server.store.answer = null
    await soon(() => expect(heard.at(-1)).toEqual(CLOSED))
  })
})

describe('the socket of credentials that were replaced gets a reconnect message and is closed with 4401', () => {
  const REPLACED = [{ method: 'reconnect' }, { closed: '4401 TOKEN_INVALID' }]
  const reauthenticate = (session: TestSession) =>
    callEndpoint(server, browser(session), {
      method: 'POST',
      path: '/reauthenticate',
      body: { password: TEST_PASSWORD },
    })

  test('while it is idle', async () => {
    const session = await server.auth.signIn()
    const { heard } = await connectAndCall(session)
    await reauthenticate(session)
    await soon(() => expect(heard.slice(-2)).toEqual(REPLACED))
  })

  test('after the errors of its streams', async () => {
    const session = await server.auth.signIn()
    const { heard, send } = await connect(session)
    const paths = ['clock', 'observableClock', 'deaf', 'stubborn', 'trackedClock']
    paths.forEach((path, id) => void send(id, 'subscription', path))
    await soon(() => expect(heard).toHaveLength(paths.length))
    await reauthenticate(session)
    server.stage.ticker.emit('tick', 'late')
    await soon(() => expect(heard.at(-1)).toEqual(REPLACED[1]))
    expect(heard.slice(paths.length)).toEqual(
      expect.arrayContaining([...paths.map((_path, id) => ({ id, reason: 'TOKEN_INVALID' })), REPLACED[0]]),
    )
    expect(heard).not.toContainEqual(expect.objectContaining({ value: 'late' }))
  })

  test('also where the change was not announced, at its next call', async () => {
    const session = await server.auth.signIn()
    const { heard, send } = await connectAndCall(session)
    await server.auth.db
      .updateTable('session')
      .set({ version: 2 })
      .where('id', '=', session.sessionId)
      .execute()
    send(2, 'query', 'me')
    await soon(() => expect(heard.at(-1)).toEqual(REPLACED[1]))
    expect(heard).toContainEqual({ id: 2, reason: 'TOKEN_INVALID' })
  })

  test('when the grace period of a rotation has passed, and not before', async () => {
    const rotating = await startServer({ session: { rotateSessionToken: true } })
    onTestFinished(() => rotating.close())
    const session = await rotating.auth.signIn()
    const socket = new WebSocket(`ws://${rotating.host}/ws`, { headers: browser(session).headers })
    const heard: string[] = []
    socket.on('message', (message) => heard.push(String(message)))
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    await new Promise((resolve) => socket.once('open', resolve))
    const call = (id: number) => socket.send(JSON.stringify({ id, method: 'query', params: { path: 'me' } }))
    call(1)
    await soon(() => expect(heard).toHaveLength(1))
    await callEndpoint(rotating, browser(session), { method: 'GET', path: '/backend/token' })
    call(2)
    await soon(() => expect(heard).toHaveLength(2))
    expect(heard[1]).toContain(session.userId)
    rotating.auth.clock.advance(31)
    call(3)
    expect(await closed).toBe(4401)
    expect(heard.slice(2).join()).toContain('TOKEN_INVALID')
  })

  test('but a socket that was opened with replaced credentials stays open: public procedures work', async () => {
    const session = await server.auth.signIn()
    await reauthenticate(session)
    const { heard, send } = await connect(session)
    send(1, 'query', 'me')
    await soon(() => expect(heard).toEqual([{ id: 1, reason: 'TOKEN_INVALID' }]))
    await new Promise((resolve) => setTimeout(resolve, 200))
    send(2, 'query', 'health')
    await soon(() => expect(heard.at(-1)).toEqual({ id: 2, value: 'ok' }))
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
    const { heard, send } = await connectAndCall(session)
    await end(session)
    send(2, 'query', 'me')
    await soon(() => expect(heard).toHaveLength(2))
    expect(heard.at(-1)).toEqual(reason === null ? { id: 2, value: session.userId } : { id: 2, reason })
    // Longer than a banned user's would have stayed open.
    await new Promise((resolve) => setTimeout(resolve, 200))
    send(3, 'query', 'health')
    await soon(() => expect(heard.at(-1)).toEqual({ id: 3, value: 'ok' }))
  })
})

describe('what a socket holds', () => {
  test('is one listener from the first guarded call to its end, however many calls come', async () => {
    const session = await server.auth.signIn()
    const line = await connect(session)
    line.send(1, 'query', 'health')
    await soon(() => expect(line.heard).toHaveLength(1))
    expect(server.feed.listeners).toBe(0)

    const before = server.feed.subscriptions
    for (let id = 2; id < 12; id++) line.send(id, 'query', id % 2 ? 'me' : 'secret')
    line.send(12, 'subscription', 'clock')
    await soon(() => expect(line.heard).toHaveLength(12))
    expect(server.feed.subscriptions).toBe(before + 1)
    expect(server.feed.listeners).toBe(1)
    line.hangUp()
    await soon(() => expect(server.feed.listeners).toBe(0))
  })

  test('is shared by the sockets of a session, and goes with the last of them', async () => {
    const session = await server.auth.signIn()
    const lines = [await connectAndCall(session), await connectAndCall(session)]
    expect(server.feed.listeners).toBe(1)
    lines[0]?.hangUp()
    await soon(() => expect(server.sockets.size).toBe(1))
    expect(server.feed.listeners).toBe(1)
  })
})

describe('a socket that is to be closed', () => {
  /** A socket of whose user two calls were rejected since the ban. */
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
      res: { readyState: 1, send: () => {}, close, once: (_event, listener) => listeners.push(listener) },
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

  test('is closed once, however many calls are rejected', async () => {
    const { close, hangUp } = await rejectTwice()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(close).toHaveBeenCalledExactlyOnceWith(4403, 'ACCOUNT_BANNED')
    hangUp()
  })

  test('is not when its client hangs up first, and leaves no timer', async () => {
    const { close, hangUp } = await rejectTwice()
    hangUp()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(close).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })
})

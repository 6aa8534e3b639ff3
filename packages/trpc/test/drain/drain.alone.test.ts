import { memoryFeed } from '@sallyport/core/internal/server'
import { drain } from '@sallyport/trpc'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  // The process has run for a while.
  vi.advanceTimersByTime(60_000)
})
afterEach(() => void vi.useRealTimers())

/** Starts a stop of a server with one socket that isn't from `webSocketOptions`. */
function begin(timeoutMs?: number) {
  const clients = new Set<object>()
  const socket = {
    readyState: 1,
    OPEN: 1,
    send: vi.fn<(text: string) => void>(),
    close: vi.fn<(code: number, reason: string) => void>(),
    terminate: vi.fn<() => void>(() => void clients.delete(socket)),
  }
  clients.add(socket)
  const server = {
    listening: true,
    closed: () => {},
    close: vi.fn<(callback?: () => void) => void>((callback) => {
      server.closed = callback ?? server.closed
    }),
    closeIdleConnections: vi.fn<() => void>(),
    closeAllConnections: vi.fn<() => void>(),
    getConnections: (callback: (error: null, count: number) => void) => callback(null, 0),
    once: vi.fn<(event: 'listening', listener: () => void) => void>(),
  }
  const auth = { store: { revocations: memoryFeed() }, close: vi.fn<() => Promise<void>>(async () => {}) }
  const sockets = { clients, close: vi.fn<() => void>() }
  const drained = drain({
    auth: auth as never,
    server,
    sockets,
    ...(timeoutMs !== undefined && { timeoutMs }),
  })
  return { clients, socket, server, sockets, auth, drained }
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

test('gives clients 1.5 s to open a socket elsewhere, and then closes theirs', async () => {
  const { clients, socket, server, sockets, auth, drained } = begin()
  expect(socket.send.mock.calls).toEqual([['{"id":null,"method":"reconnect"}']])
  expect([sockets.close.mock.calls.length, server.close.mock.calls.length]).toEqual([1, 1])
  await pass(1_490)
  expect(socket.close).not.toHaveBeenCalled()
  expect(server.closeIdleConnections).not.toHaveBeenCalled()
  await pass(10)
  expect(server.closeIdleConnections).toHaveBeenCalled()
  expect(socket.close).toHaveBeenCalledWith(1001, 'Server stops')
  expect(auth.close).not.toHaveBeenCalled()
  clients.clear()
  server.closed()
  await pass(20)
  await drained
  expect(auth.close).toHaveBeenCalledOnce()
  expect([socket.terminate, server.closeAllConnections].map(({ mock }) => mock.calls.length)).toEqual([0, 0])
})

test('cuts all connections after 5 s', async () => {
  const { socket, server, auth, drained } = begin()
  await pass(4_980)
  expect(socket.terminate).not.toHaveBeenCalled()
  await pass(20)
  await drained
  expect(socket.terminate).toHaveBeenCalledOnce()
  expect(server.closeAllConnections).toHaveBeenCalledOnce()
  expect(auth.close).toHaveBeenCalledOnce()
})

test('ends also with a server of HTTP/2, which cannot cut connections', async () => {
  const server = { listening: true, close() {}, once() {}, getConnections() {} }
  const auth = { store: { revocations: memoryFeed() }, close: vi.fn<() => Promise<void>>(async () => {}) }
  const drained = drain({ auth, server, timeoutMs: 100 })
  await pass(100)
  await drained
  expect(auth.close).toHaveBeenCalledOnce()
})

test('closes what has no sessions', async () => {
  const close = vi.fn<() => void>()
  await drain({ auth: { close }, server: [] })
  expect(close).toHaveBeenCalledOnce()
})

test('closes no socket that is closing, and a server that begins to listen at once', async () => {
  const { socket, server, drained } = begin(2_000)
  socket.readyState = 2
  await pass(2_000)
  await drained
  expect(socket.close).not.toHaveBeenCalled()
  const late = { ...server, listening: false, close: vi.fn<() => void>() }
  const auth = { store: { revocations: memoryFeed() }, close: async () => {} }
  await drain({ auth, server: [late] })
  expect(late.close).not.toHaveBeenCalled()
  const [event, listener] = late.once.mock.calls.at(-1) ?? expect.fail()
  listener()
  expect(event).toBe('listening')
  expect(late.close).toHaveBeenCalledOnce()
})

const openAuth = () => ({
  store: { revocations: memoryFeed() },
  close: vi.fn<() => Promise<void>>(async () => {}),
})

test('waits for a server of Bun, and cuts its connections after the timeout', async () => {
  const [quick, slow] = [openAuth(), openAuth()]
  const stop = vi.fn<(closeActiveConnections?: boolean) => Promise<void>>(() => new Promise(() => {}))
  const drained = drain({ auth: slow, server: { stop }, timeoutMs: 2_000 })
  const stopped = drain({ auth: quick, server: { stop: async () => {} }, timeoutMs: 2_000 })
  await pass(20)
  await stopped
  expect(quick.close).toHaveBeenCalledOnce()
  await pass(1_960)
  expect(stop.mock.calls).toEqual([[]])
  expect(slow.close).not.toHaveBeenCalled()
  await pass(20)
  await drained
  expect(stop.mock.calls).toEqual([[], [true]])
  expect(slow.close).toHaveBeenCalledOnce()
})

test('waits for a server of Deno, also if its shutdown fails, until the timeout', async () => {
  const [failing, slow] = [openAuth(), openAuth()]
  const drained = drain({ auth: slow, server: { shutdown: () => new Promise(() => {}) }, timeoutMs: 2_000 })
  const failed = drain({ auth: failing, server: { shutdown: () => Promise.reject(new Error('Failed')) } })
  await pass(20)
  await failed
  expect(failing.close).toHaveBeenCalledOnce()
  await pass(1_960)
  expect(slow.close).not.toHaveBeenCalled()
  await pass(20)
  await drained
  expect(slow.close).toHaveBeenCalledOnce()
})

test('without a server, closes after the timeout, and keeps no process alive', async () => {
  const auth = openAuth()
  const unref = vi.spyOn(globalThis, 'setTimeout')
  const drained = drain({ auth })
  await pass(4_980)
  expect(auth.close).not.toHaveBeenCalled()
  await pass(20)
  await drained
  expect(auth.close).toHaveBeenCalledOnce()
  expect(unref.mock.results.map(({ value }) => value.hasRef())).not.toContain(true)
})

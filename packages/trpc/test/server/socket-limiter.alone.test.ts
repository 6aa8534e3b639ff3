import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { baseEmit, baseSend, type LimitedSocket, SocketLimiter } from '../../src/server/socket-limiter.ts'
import { socketLimits, type WebSocketLimits } from '../../src/server/socket-limits.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A limiter, and what it does to its socket. */
function open(limits: WebSocketLimits = {}) {
  const done: string[] = []
  const socket: LimitedSocket & { readyState: number } = {
    readyState: 1,
    bufferedAmount: 0,
    emit: () => true,
    send() {},
    pause: () => void done.push('pause'),
    resume: () => void done.push('resume'),
    close(code: number, reason: string) {
      this.readyState = 2
      done.push(`close ${code} ${reason}`)
    },
    terminate: () => void done.push('terminate'),
    [baseEmit](event: string, [frame]: readonly unknown[]) {
      done.push(frame === undefined ? event : `${event} ${frame}`)
      return true
    },
    [baseSend]: ([frame]: readonly unknown[]) => void done.push(`send ${frame}`),
  }
  const limiter = new SocketLimiter(socket, {
    ...socketLimits(limits),
    onLimited: () => void done.push('limited'),
  })
  const receive = (text: string) => limiter.emit('message', [Buffer.from(text), false])
  const state = () => ({ calls: limiter.hasCalls(), open: limiter.hasOpenCalls() })
  return { limiter, socket, done, receive, state, end: () => limiter.emit('close', []) }
}

const QUERY = '{"id":1,"method":"query"}'
const ANSWER = '{"id":1,"result":{"type":"data"}}'
const SUBSCRIPTION = '{"id":2,"method":"subscription"}'

describe('a socket has', () => {
  test('calls until they are answered', () => {
    const { limiter, receive, state } = open()
    expect(state()).toEqual({ calls: false, open: false })
    receive(QUERY)
    expect(state()).toEqual({ calls: true, open: true })
    limiter.send([ANSWER])
    expect(state()).toEqual({ calls: false, open: false })
  })

  test('an open call, but none to answer, with a subscription', () => {
    const { receive, state } = open()
    receive(SUBSCRIPTION)
    expect(state()).toEqual({ calls: false, open: true })
  })

  test('calls while a frame waits for its turn', () => {
    const { done, receive, state } = open({ framesPer100Ms: 1 })
    receive('PING')
    expect(state()).toEqual({ calls: false, open: false })
    receive('PONG')
    expect(state()).toEqual({ calls: true, open: true })
    vi.advanceTimersByTime(100)
    expect(state()).toEqual({ calls: false, open: false })
    expect(done).toEqual(['message PING', 'pause', 'message PONG', 'resume'])
  })
})

describe('a frame', () => {
  test('of several calls is delivered call by call', () => {
    const { limiter, done, state } = open()
    expect(limiter.emit('message', [Buffer.from(`[${QUERY},${SUBSCRIPTION}]`), false])).toBe(true)
    expect(done).toEqual([`message ${QUERY}`, `message ${SUBSCRIPTION}`])
    expect(state()).toEqual({ calls: true, open: true })
  })

  // tRPC before 11.9 parses it.
  test('that is binary is delivered call by call, still binary', () => {
    const { limiter, socket, state } = open()
    const delivered = vi.spyOn(socket, baseEmit)
    limiter.emit('message', [Buffer.from(`[${QUERY},${SUBSCRIPTION}]`), true])
    const calls = [QUERY, SUBSCRIPTION].map((call) => ['message', [Buffer.from(call), true]])
    expect(delivered.mock.calls).toEqual(calls)
    expect(state()).toEqual({ calls: true, open: true })
  })

  test.each(['\n[', '[1,2]', '[]'])(
    'that is binary, but holds no call, is delivered as it is: %j',
    (text) => {
      const { limiter, done } = open()
      limiter.emit('message', [Buffer.from(text), true])
      expect(done).toEqual([`message ${text}`])
    },
  )

  test('that has parts is delivered as it is, and opens no call', () => {
    const { limiter, done, state } = open()
    limiter.emit('message', [[Buffer.from(`[${QUERY}]`)], false])
    expect(done).toEqual([`message [${QUERY}]`])
    expect(state()).toEqual({ calls: false, open: false })
  })

  test('of an empty batch counts', () => {
    const { done, receive } = open({ framesPer100Ms: 1 })
    for (let count = 0; count < 2; count++) receive('[]')
    expect(done).toEqual(['message ', 'pause'])
  })

  test('counts once more for each 8 KB', () => {
    const { done, receive } = open({ framesPer100Ms: 3 })
    receive('x'.repeat(16 * 1024))
    receive('PING')
    expect(done.slice(1)).toEqual(['pause'])
    vi.advanceTimersByTime(100)
    expect(done.slice(2)).toEqual(['message PING', 'resume'])
  })

  test('of a large batch counts its bytes once', () => {
    const { done, receive } = open({ framesPer100Ms: 2 })
    const large = `{"id":1,"method":"query","params":"${'x'.repeat(8 * 1024)}"}`
    receive(`[${large},${QUERY}]`)
    expect(done).toEqual([`message ${large}`, 'pause'])
    vi.advanceTimersByTime(100)
    receive('PING')
    expect(done.slice(2)).toEqual([`message ${QUERY}`, 'resume', 'message PING'])
  })

  test('of a ping terminates a socket that reads no responses', () => {
    const { limiter, socket, done } = open({ maxBufferedBytes: 10 })
    Object.assign(socket, { bufferedAmount: 10 })
    limiter.emit('ping', [])
    Object.assign(socket, { bufferedAmount: 11 })
    limiter.emit('ping', [])
    expect(done).toEqual(['ping', 'terminate'])
  })

  test.each(['ping', 'pong'])('of a %s counts, and opens no call', (event) => {
    const { limiter, done, state } = open({ framesPer100Ms: 1 })
    limiter.emit(event, [Buffer.from(QUERY)])
    expect(state()).toEqual({ calls: false, open: false })
    limiter.emit(event, [])
    expect(done).toEqual([`${event} ${QUERY}`, 'pause'])
  })
})

describe('a stream may read its source', () => {
  test('unless more bytes wait for the client than the limit, until they no longer do', async () => {
    const { limiter, socket } = open({ pauseAboveBytes: 10 })
    Object.assign(socket, { bufferedAmount: 10 })
    expect(limiter.writable()).toBeNull()
    Object.assign(socket, { bufferedAmount: 11 })
    const written = vi.fn<() => void>()
    const waiting = limiter.writable()
    expect(limiter.writable()).toBe(waiting)
    void waiting?.then(written)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(written).not.toHaveBeenCalled()
    Object.assign(socket, { bufferedAmount: 10 })
    await vi.advanceTimersByTimeAsync(20)
    expect(written).toHaveBeenCalledOnce()
    Object.assign(socket, { bufferedAmount: 11 })
    expect(limiter.writable()).not.toBeNull()
  })

  test('once the socket closes', async () => {
    const { limiter, socket } = open({ pauseAboveBytes: 10 })
    Object.assign(socket, { bufferedAmount: 11 })
    const written = vi.fn<() => void>()
    void limiter.writable()?.then(written)
    socket.readyState = 3
    await vi.advanceTimersByTimeAsync(20)
    expect(written).toHaveBeenCalledOnce()
    expect(limiter.writable()).toBeNull()
  })
})

describe('a socket over a limit', () => {
  const overLimit = () => {
    const opened = open({ framesPer100Ms: 3, maxSubscriptions: 1 })
    // Twice as many may wait for their start. The third closes the socket, and two more frames wait.
    for (const id of [1, 2, 3, 4, 5]) opened.receive(`{"id":${id},"method":"subscription"}`)
    return opened
  }

  test('is closed with 4429, and terminated a second later', () => {
    const { done } = overLimit()
    expect(done.slice(2)).toEqual(['limited', 'close 4429 RATE_LIMITED', 'pause'])
    vi.advanceTimersByTime(999)
    expect(done).not.toContain('terminate')
    vi.advanceTimersByTime(1)
    expect(done).toContain('terminate')
  })

  test('is not terminated if it closes before', () => {
    const { done, end } = overLimit()
    end()
    vi.advanceTimersByTime(60_000)
    expect(done.slice(5)).toEqual(['close'])
  })

  test('keeps no frame that waits', () => {
    const { state, limiter } = overLimit()
    for (const id of [1, 2]) limiter.send([`{"id":${id},"error":{}}`])
    expect(state()).toEqual({ calls: false, open: false })
  })

  test('is closed once', () => {
    const { done, limiter } = overLimit()
    limiter.onOverBudget()
    expect(done.filter((each) => each.startsWith('close'))).toHaveLength(1)
  })
})

describe('a socket that breaks the protocol', () => {
  test('is no longer read, and terminated a second later', () => {
    const { done, limiter } = open()
    limiter.emit('error', [])
    expect(done).toEqual(['error'])
    vi.advanceTimersByTime(0)
    expect(done).toEqual(['error', 'pause'])
    vi.advanceTimersByTime(1_000)
    expect(done).toEqual(['error', 'pause', 'terminate'])
  })

  test('is not terminated if it closes before', () => {
    const { done, limiter, end } = open()
    limiter.emit('error', [])
    end()
    vi.advanceTimersByTime(60_000)
    expect(done).not.toContain('terminate')
  })
})

describe('a socket with a deadline', () => {
  const openWithDeadline = () => {
    const opened = open({ authenticateWithinMs: 500 })
    opened.limiter.emit('open', [])
    return opened
  }

  test('is closed with 4408, which is no limit', () => {
    const { done } = openWithDeadline()
    vi.advanceTimersByTime(500)
    expect(done).toEqual(['open', 'close 4408 Not authenticated in time'])
  })

  test('stays open once its user has passed both steps', () => {
    const { done, limiter } = openWithDeadline()
    limiter.authenticated()
    vi.advanceTimersByTime(60_000)
    expect(done).toEqual(['open'])
  })

  test('needs no close if it has closed', () => {
    const { done, end } = openWithDeadline()
    end()
    vi.advanceTimersByTime(60_000)
    expect(done).toEqual(['open', 'close'])
  })
})

test('bursts with breaks never close a socket', () => {
  const { done, receive } = open({ framesPer100Ms: 2 })
  for (let burst = 0; burst < 100; burst++) {
    for (let frame = 0; frame < 5; frame++) receive('PING')
    vi.advanceTimersByTime(300)
  }
  expect(done.filter((event) => event === 'message PING')).toHaveLength(500)
  expect(done.filter((event) => /close|limited|terminate/.test(event))).toEqual([])
})

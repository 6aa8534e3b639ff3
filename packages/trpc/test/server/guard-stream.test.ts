import { EventEmitter, getEventListeners, on } from 'node:events'
import type { TestSession } from '@sallyport/core/testing'
import { observable } from '@trpc/server/observable'
import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { guardIterable, guardObservable, guardPromise } from '../../src/server/guard-stream.ts'
import { soon } from '../support/soon.ts'
import { startServer } from '../support/start-server.ts'
import {
  begin,
  expectEnd,
  type Open,
  overEvents,
  overJsonLines,
  overWebSocket,
  type Procedure,
  STREAMS,
} from '../support/streams.ts'

const server = await startServer({ sockets: 'unknown' })
afterEach(() => server.clear())
afterAll(() => server.close())

async function setExpiry({ sessionId }: TestSession, inMs: number): Promise<void> {
  const expiresAt = new Date(server.auth.clock.now().getTime() + inMs)
  await server.auth.db.updateTable('session').set({ expiresAt }).where('id', '=', sessionId).execute()
}

/** Creates a lease that the test ends. */
function testLease(controller = new AbortController()) {
  return {
    signal: controller.signal,
    pending: (): Promise<void> | null => null,
    withReason: (error: unknown) => error,
    end: vi.fn<() => void>(),
    abandon() {},
    endSession: () => controller.abort(new Error('the session has ended')),
  }
}

const tick = (value: string) => server.stage.ticker.emit('tick', value)
/** Returns a value's text, which `tracked()` wraps. */
const textOf = (value: unknown) =>
  typeof value === 'object' && value !== null && 'data' in value ? value.data : value

describe.each(STREAMS)('$stream', ({ open }) => {
  test('passes values on while the session is valid', async () => {
    const { stream } = await begin(server, open)
    tick('one')
    tick('two')
    await soon(() => expect(stream.values.map(textOf)).toEqual(['ready', 'one', 'two']))
    stream.unsubscribe()
  })

  test('ends with SESSION_NOT_FOUND when the session is deleted, and emits nothing after', async () => {
    const { session, stream } = await begin(server, open)
    await server.auth.revoke(session)
    tick('late')
    const rejection = await stream.ended
    expectEnd(rejection, 'SESSION_NOT_FOUND')
    expect(rejection).toMatchObject({ code: 'UNAUTHORIZED', httpStatus: 401 })
    tick('later')
    expect(stream.values.map(textOf)).toEqual(['ready'])
    await soon(() => expect(server.feed.listeners).toBe(0))
  })

  test('ends with ACCOUNT_BANNED when the user is banned', async () => {
    const { session, stream } = await begin(server, open)
    await server.auth.ban(session)
    const rejection = await stream.ended
    expectEnd(rejection, 'ACCOUNT_BANNED')
    expect(rejection).toMatchObject({ code: 'FORBIDDEN', httpStatus: 403, message: 'Account banned' })
  })

  test('ends with SESSION_EXPIRED when expiresAt is reached', async () => {
    const session = await server.auth.signIn()
    await setExpiry(session, 100)
    const stream = await open(server, session)
    await stream.first
    server.auth.clock.advance(1)
    expectEnd(await stream.ended, 'SESSION_EXPIRED')
  })

  test("ends with SESSIONS_UNAVAILABLE when the store can't confirm a revocation", async () => {
    const { session, stream } = await begin(server, open)
    server.store.answer = () => Promise.reject(new Error('down'))
    server.feed.publish(session)
    tick('undecided')
    const rejection = await stream.ended
    expectEnd(rejection, 'SESSIONS_UNAVAILABLE')
    expect(rejection?.auth?.retryAfterSeconds).toBe(1)
    expect(stream.values.map(textOf)).toEqual(['ready'])
  })

  test('holds a value back until it is known whether the session was revoked', async () => {
    const { session, stream } = await begin(server, open)
    const decision = Promise.withResolvers<void>()
    server.store.answer = async (find) => {
      await decision.promise
      return find()
    }
    server.feed.publish(session)
    tick('held back')
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(stream.values.map(textOf)).toEqual(['ready'])
    decision.resolve()
    await soon(() => expect(stream.values.map(textOf)).toEqual(['ready', 'held back']))
    stream.unsubscribe()
  })

  test('continues after a renewal of expiresAt', async () => {
    const session = await server.auth.signIn()
    await setExpiry(session, 100)
    const stream = await open(server, session)
    await stream.first
    await setExpiry(session, 3_600_000)
    server.auth.clock.advance(1)
    server.auth.lookups.reset()
    await soon(() => expect(server.auth.lookups.count).toBeGreaterThan(0))
    tick('still here')
    await soon(() => expect(stream.values.map(textOf)).toEqual(['ready', 'still here']))
    stream.unsubscribe()
  })

  test("continues after another user's revocation, or one of another session of the same user", async () => {
    const { session, stream } = await begin(server, open)
    const stranger = await server.auth.signIn()
    const secondBrowser = await server.auth.signIn({ userId: session.userId })
    server.auth.lookups.reset()
    await server.auth.ban(stranger)
    await server.auth.revoke(secondBrowser)
    expect(server.auth.lookups.count).toBe(0)
    tick('still here')
    await soon(() => expect(stream.values.map(textOf)).toEqual(['ready', 'still here']))
    stream.unsubscribe()
  })

  test('continues after the expiry of its JWT', async () => {
    const { session, stream } = await begin(server, open)
    server.auth.clock.advance(16 * 60)
    server.feed.publish(session)
    tick('still here')
    await soon(() => expect(stream.values.map(textOf)).toEqual(['ready', 'still here']))
    stream.unsubscribe()
  })

  test('leaves no listener behind when its reader disconnects', async () => {
    const { stream } = await begin(server, open)
    expect(server.feed.listeners).toBeGreaterThan(0)
    stream.unsubscribe()
    await soon(() => expect(server.feed.listeners).toBe(0))
  })
})

describe("a source that ignores its signal doesn't delay the client's error", () => {
  test.each<{ source: string; open: Open }>([
    { source: 'deaf, over WebSocket', open: overWebSocket('deaf') },
    { source: 'deaf, over server-sent events', open: overEvents('node', 'deaf') },
    { source: 'deaf, as a streamed query', open: overJsonLines('node', 'deafStreamed') },
    { source: 'with an endless cleanup, over WebSocket', open: overWebSocket('stubborn') },
    { source: 'with an endless cleanup, over server-sent events', open: overEvents('fetch', 'stubborn') },
    { source: 'with a failing cleanup, over WebSocket', open: overWebSocket('clumsy') },
    { source: 'with a failing cleanup, over server-sent events', open: overEvents('fetch', 'clumsy') },
  ])('$source', async ({ open }) => {
    const { session, stream } = await begin(server, open)
    await server.auth.revoke(session)
    expectEnd(await stream.ended, 'SESSION_NOT_FOUND')
    await soon(() => expect(server.feed.listeners).toBe(0))
  })
})

describe('a revocation between Step 2 and the first value is noticed', () => {
  const transports = [
    { transport: 'WebSocket', over: overWebSocket },
    { transport: 'server-sent events', over: (procedure: Procedure) => overEvents('node', procedure) },
  ]

  test.each(transports)('during Step 2, over $transport', async ({ over }) => {
    const session = await server.auth.signIn()
    const answered = Promise.withResolvers<void>()
    server.store.answer = async (find) => {
      const found = await find()
      await answered.promise
      return found
    }
    const stream = await over('clock')(server, session)
    await soon(() => expect(server.auth.lookups.count).toBe(1))
    await server.auth.revoke(session)
    answered.resolve()
    expectEnd(await stream.ended, 'SESSION_NOT_FOUND')
    expect(stream.values).toEqual([])
  })

  test.each(transports)('while the resolver prepares the stream, over $transport', async ({ over }) => {
    const session = await server.auth.signIn()
    server.stage.closeGate()
    const stream = await over('lateClock')(server, session)
    await soon(() => expect(server.stage.runs).toEqual(['lateClock']))
    await server.auth.revoke(session)
    server.stage.openGate()
    expectEnd(await stream.ended, 'SESSION_NOT_FOUND')
    expect(stream.values).toEqual([])
  })
})

describe('guardObservable', () => {
  /** Observes a source that the test controls. */
  function observe(prepare: (signal: AbortSignal) => void = () => {}) {
    const controller = new AbortController()
    prepare(controller.signal)
    let pending: ReturnType<typeof Promise.withResolvers<void>> | null = null
    const lease = { ...testLease(controller), pending: () => pending?.promise ?? null }
    let source: Parameters<Parameters<typeof observable<string>>[0]>[0] | undefined
    const left = vi.fn<() => void>()
    const received: string[] = []
    let rejection: Error | null = null
    const guarded = guardObservable(
      observable<string>((observer) => {
        source = observer
        return left
      }),
      { openStream: () => lease },
    )
    const { unsubscribe } = guarded.subscribe({
      next(value) {
        if (rejection !== null) throw rejection
        received.push(String(value))
      },
      error: (error) => void received.push(String(error)),
      complete: () => void received.push('complete'),
    })
    return {
      lease,
      received,
      left,
      unsubscribe,
      emit: (value: string) => source?.next(value),
      complete: () => source?.complete(),
      reject(error: Error) {
        rejection = error
      },
      ask() {
        pending = Promise.withResolvers()
        return pending
      },
      decide() {
        const asked = pending
        pending = null
        asked?.resolve()
        return turn()
      },
      end: () => controller.abort(new Error('the session has ended')),
    }
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  test('emits at once', () => {
    const { received, emit, complete } = observe()
    emit('1')
    complete()
    expect(received).toEqual(['1', 'complete'])
  })

  test('keeps the order of values before, during, and after a pending read', async () => {
    const { received, emit, ask, decide, complete } = observe()
    emit('1')
    const first = ask()
    emit('2')
    // Another revocation is announced and looked up before the first result.
    ask()
    emit('3')
    first.resolve()
    await turn()
    expect(received).toEqual(['1'])
    const decided = decide()
    emit('4')
    complete()
    await decided
    expect(received).toEqual(['1', '2', '3', '4', 'complete'])
  })

  test('emits no pending value after the end, and releases the source', async () => {
    const { received, emit, ask, decide, end, lease, left } = observe()
    ask()
    emit('held back')
    end()
    await decide()
    emit('late')
    expect(received).toEqual(['Error: the session has ended'])
    expect(lease.end).toHaveBeenCalled()
    expect(left).toHaveBeenCalledOnce()
    expect(getEventListeners(lease.signal, 'abort')).toEqual([])
  })

  test('does not begin once the session has ended', () => {
    const lease = testLease()
    lease.endSession()
    const begun = vi.fn<() => void>()
    const received: string[] = []
    const source = observable<string>(() => begun())
    guardObservable(source, { openStream: () => lease }).subscribe({
      error: (error) => void received.push(String(error)),
    })
    expect(received).toEqual(['Error: the session has ended'])
    expect(begun).not.toHaveBeenCalled()
    expect(lease.end).toHaveBeenCalledOnce()
  })

  test('emits nothing that the source emits when the signal aborts', () => {
    const { lease, received, emit, end } = observe((signal) =>
      signal.addEventListener('abort', () => emit('last words')),
    )
    end()
    expect(received).toEqual(['Error: the session has ended'])
    expect(lease.end).toHaveBeenCalled()
  })

  test('ignores an error of the cleanup when the session ends, as without a caller', () => {
    const { received, left, end } = observe()
    left.mockImplementation(() => {
      throw new Error('the cleanup failed')
    })
    end()
    expect(received).toEqual(['Error: the session has ended'])
    expect(left).toHaveBeenCalledOnce()
  })

  test('ends with the error of a subscriber that rejects a pending value', async () => {
    const { received, lease, emit, ask, decide, reject } = observe()
    ask()
    emit('held back')
    reject(new Error('the value is invalid'))
    await decide()
    expect(received).toEqual(['Error: the value is invalid'])
    expect(lease.end).toHaveBeenCalled()
  })

  test('emits no pending value after the subscriber has left', async () => {
    const { received, emit, ask, decide, unsubscribe, lease } = observe()
    ask()
    emit('held back')
    unsubscribe()
    await decide()
    expect(received).toEqual([])
    expect(lease.end).toHaveBeenCalled()
    expect(getEventListeners(lease.signal, 'abort')).toEqual([])
  })
})

describe('guardIterable', () => {
  /** Creates a source that fails when it is read after the end, like a timer with an aborted signal. */
  function sourceOf(lease: ReturnType<typeof testLease>) {
    return {
      reads: 0,
      returned: vi.fn<() => Promise<void>>(async () => {}),
      [Symbol.asyncIterator]() {
        return {
          next: async () => {
            this.reads++
            lease.signal.throwIfAborted()
            return { done: false, value: this.reads }
          },
          return: async () => {
            await this.returned()
            return { done: true, value: undefined }
          },
        }
      },
    }
  }

  /** Records unhandled rejections, which end a Node process. */
  function watchUnseen() {
    const unseen = vi.fn<() => void>()
    process.on('unhandledRejection', unseen)
    onTestFinished(() => void process.off('unhandledRejection', unseen))
    return unseen
  }

  test('stops reading if the session ended between two reads, so there is no unhandled rejection', async () => {
    const lease = testLease()
    const source = sourceOf(lease)
    const guarded = guardIterable(source, { openStream: () => lease })
    const unseen = watchUnseen()
    expect(await guarded.next()).toEqual({ done: false, value: 1 })
    lease.endSession()
    await expect(guarded.next()).rejects.toThrow('the session has ended')
    await new Promise((resolve) => setImmediate(resolve))
    expect(unseen).not.toHaveBeenCalled()
    expect(source.reads).toBe(1)
    expect(source.returned).toHaveBeenCalledOnce()
  })

  test('returns what the source returns when its reader leaves early', async () => {
    const lease = testLease()
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: 1 }),
        return: async (value: unknown) => ({ done: true, value: [value, 'cleaned up'] }),
      }),
    }
    const guarded = guardIterable(source, { openStream: () => lease })
    await guarded.next()
    expect(await guarded.return?.('left')).toEqual({ done: true, value: ['left', 'cleaned up'] })
    expect(lease.end).toHaveBeenCalled()
    const plain = guardIterable(
      { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: 1 }) }) },
      { openStream: () => testLease() },
    )
    await plain.next()
    expect(await plain.return?.('left')).toEqual({ done: true, value: 'left' })
  })

  test('reads nothing after its end, whatever its reader calls', async () => {
    const lease = testLease()
    const source = sourceOf(lease)
    const guarded = guardIterable(source, { openStream: () => lease })
    await guarded.next()
    await guarded.return?.()
    expect(await guarded.next()).toEqual({ done: true, value: undefined })
    expect(await guarded.return?.('again')).toEqual({ done: true, value: 'again' })
    expect([source.reads, source.returned.mock.calls.length]).toEqual([1, 1])
  })

  test('does not read its source while the client reads too slowly, and ends meanwhile', async () => {
    const lease = testLease()
    const source = sourceOf(lease)
    const drained = Promise.withResolvers<void>()
    let wait: Promise<void> | null = drained.promise
    const guarded = guardIterable(source, { openStream: () => lease, writable: () => wait })
    const first = guarded.next()
    await new Promise((resolve) => setImmediate(resolve))
    expect(source.reads).toBe(0)
    drained.resolve()
    expect(await first).toEqual({ done: false, value: 1 })
    wait = new Promise(() => {})
    const second = guarded.next()
    lease.endSession()
    await expect(second).rejects.toThrow('the session has ended')
  })

  test('ends its lease when its reader throws, and lets the source handle that', async () => {
    const lease = testLease()
    const next = async () => ({ done: false, value: 1 })
    const source = {
      [Symbol.asyncIterator]: () => ({ next, throw: async () => ({ done: true, value: 'kept' }) }),
    }
    const fault = new Error('the reader has a fault')
    expect(await guardIterable(source, { openStream: () => lease }).throw?.(fault)).toMatchObject({
      value: 'kept',
    })
    expect(lease.end).toHaveBeenCalledOnce()
    const plain = guardIterable({ [Symbol.asyncIterator]: () => ({ next }) }, { openStream: testLease })
    await expect(plain.throw?.(fault)).rejects.toBe(fault)
  })

  test('begins to iterate the source only when it is read', async () => {
    const source = sourceOf(testLease())
    const iterate = vi.spyOn(source, Symbol.asyncIterator)
    const guarded = guardIterable(source, { openStream: testLease })
    expect(iterate).not.toHaveBeenCalled()
    await guarded.next()
    await guarded.next()
    expect(iterate).toHaveBeenCalledOnce()
  })

  test('stops a source that the session ends before it is read', async () => {
    const lease = testLease()
    const emitter = new EventEmitter()
    const guarded = guardIterable(on(emitter, 'change'), { openStream: () => lease })
    lease.endSession()
    await expect(guarded.next()).rejects.toThrow('the session has ended')
    expect(emitter.listenerCount('change')).toBe(0)
  })

  test('accepts an iterator that returns results without a promise, as for await does', async () => {
    const results = [1, 2][Symbol.iterator]()
    const source = { [Symbol.asyncIterator]: () => results } as unknown as AsyncIterable<number>
    const guarded = guardIterable(source, { openStream: testLease })
    expect([(await guarded.next()).value, (await guarded.next()).value]).toEqual([1, 2])
  })

  test('is disposed of by await using', async () => {
    const lease = testLease()
    const source = sourceOf(lease)
    {
      await using guarded = guardIterable(source, { openStream: () => lease })
      await guarded.next()
    }
    expect(source.returned).toHaveBeenCalledOnce()
    expect(lease.end).toHaveBeenCalledOnce()
  })

  test('swallows a cleanup failure after the end', async () => {
    const lease = testLease()
    const source = sourceOf(lease)
    source.returned.mockRejectedValue(new Error('the clean-up failed'))
    const guarded = guardIterable(source, { openStream: () => lease })
    const unseen = watchUnseen()
    await guarded.next()
    lease.endSession()
    await expect(guarded.next()).rejects.toThrow('the session has ended')
    await new Promise((resolve) => setImmediate(resolve))
    expect(unseen).not.toHaveBeenCalled()
  })
})

test('guardPromise rejects at once if the session has already ended', async () => {
  const lease = testLease()
  lease.endSession()
  await expect(guardPromise(new Promise(() => {}), { openStream: () => lease })).rejects.toBe(
    lease.signal.reason,
  )
  expect(lease.end).toHaveBeenCalledOnce()
})

test('guardPromise leaves no listener behind', async () => {
  const lease = testLease()
  expect(await guardPromise(Promise.resolve('done'), { openStream: () => lease })).toBe('done')
  await new Promise((resolve) => setImmediate(resolve))
  expect(getEventListeners(lease.signal, 'abort')).toEqual([])
})

import { runInNewContext } from 'node:vm'
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
import { guardOutput } from '../../src/server/guard-output.ts'
import { soon } from '../support/soon.ts'
import { PATHS, startServer, type TestServer } from '../support/start-server.ts'
import { browser } from '../support/visitor.ts'

/** Creates a call's lease that the test ends. */
function testLease() {
  const controller = new AbortController()
  const lease = {
    pending: null as Promise<void> | null,
    end: vi.fn<() => void>(),
    endSession: () => controller.abort(new Error('the session has ended')),
    openStream: vi.fn(() => ({
      signal: controller.signal,
      pending: () => lease.pending,
      withReason: (error: unknown) => error,
      end: lease.end,
      abandon() {},
    })),
  }
  return lease
}

let lease: ReturnType<typeof testLease>
beforeEach(() => {
  lease = testLease()
})

const guard = (output: unknown, isStreamed = true): unknown =>
  guardOutput(output, { openStream: lease.openStream, isStreamed })
async function* numbers(): AsyncGenerator<unknown> {
  for (let number = 1; ; number++) yield number
}

/** Returns whether a part of a response ends with the session. */
async function endsWith(part: unknown): Promise<boolean> {
  if (typeof part !== 'object' || part === null) return false
  const ended = 'then' in part ? part : (part as AsyncGenerator)[Symbol.asyncIterator]().next()
  lease.endSession()
  return Promise.resolve(ended).then(
    () => false,
    (error: unknown) => error instanceof Error && error.message === 'the session has ended',
  )
}

class Row {
  readonly later = Promise.resolve('of an object of the app')
  toJSON() {
    return 'a row'
  }
}

describe('a response', () => {
  test.each([
    ['text', 'text'],
    ['nothing', undefined],
    ['null', null],
    ['a plain object', { a: 1, b: { c: null } }],
    ['a list of promises, which tRPC does not stream', [Promise.resolve(1)]],
    ['a promise deeper than tRPC looks', { a: { b: Promise.resolve(1) } }],
    ['a class instance', new Row()],
    ["an object with a then method that isn't a promise", { a: Object.fromEntries([['then', () => 1]]) }],
    ['a date', new Date(0)],
  ])('without streams is returned unchanged: %s', (_name, answer) => {
    expect(guard(answer)).toBe(answer)
    expect(lease.openStream).not.toHaveBeenCalled()
  })

  const plain: [string, () => object][] = [
    ['an object', () => ({ part: new Promise(() => {}) })],
    [
      'an object without a prototype',
      () => Object.assign(Object.create(null), { part: new Promise(() => {}) }),
    ],
    ['an object of another realm', () => runInNewContext('({ part: new Promise(() => {}) })')],
    [
      'an object with a prototype object',
      () => Object.assign(Object.create({}), { part: new Promise(() => {}) }),
    ],
    ['an object with an iterable', () => ({ part: numbers() })],
  ]
  test.each(plain)('that is %s has its parts guarded', async (_name, make) => {
    const guarded = guard(make())
    expect(guarded).toHaveProperty('part')
    expect(await endsWith((guarded as { part: unknown }).part)).toBe(true)
  })
})

describe('a promise in a response', () => {
  const partOf = async (promise: Promise<unknown>) => (guard({ part: promise }) as { part: unknown }).part

  test('resolves while the session is valid, and its lease ends with it', async () => {
    expect(await partOf(Promise.resolve('value'))).toBe('value')
    expect(lease.end).toHaveBeenCalledOnce()
  })

  test("is held back until the session's validity is known", async () => {
    const pending = Promise.withResolvers<void>()
    lease.pending = pending.promise
    const settled = vi.fn<(value: unknown) => void>()
    const part = partOf(Promise.resolve('value')).then(settled)
    await new Promise((resolve) => setImmediate(resolve))
    expect(settled).not.toHaveBeenCalled()
    lease.pending = null
    pending.resolve()
    await part
    expect(settled).toHaveBeenCalledWith('value')
  })

  test('does not resolve to a value if the session has ended', async () => {
    const pending = Promise.withResolvers<void>()
    lease.pending = pending.promise
    const part = partOf(Promise.resolve('value'))
    await new Promise((resolve) => setImmediate(resolve))
    lease.endSession()
    lease.pending = null
    pending.resolve()
    await expect(part).rejects.toThrow('the session has ended')
  })

  test('guards an iterable that it resolves to', async () => {
    expect(await endsWith(await partOf(Promise.resolve(numbers())))).toBe(true)
  })
})

describe('an iterable', () => {
  test.each([
    ['that is the response', (source: AsyncIterable<unknown>) => guard(source)],
    [
      'in a response',
      (source: AsyncIterable<unknown>) => (guard({ part: source }) as { part: unknown }).part,
    ],
  ])('%s guards what it yields and what it returns', async (_name, guarded) => {
    const stream = guarded(
      (async function* () {
        yield { inner: new Promise(() => {}) }
        return { inner: new Promise(() => {}) }
      })(),
    ) as AsyncGenerator<{ inner: unknown }, { inner: unknown }>
    const [first, last] = [await stream.next(), await stream.next()]
    expect([first.done, last.done]).toEqual([false, true])
    expect(await endsWith(first.value.inner)).toBe(true)
    expect(await endsWith(last.value.inner)).toBe(true)
  })

  test('passes its values on over a transport without streams', async () => {
    const value = { inner: Promise.resolve(1) }
    const source = (async function* () {
      yield value
    })()
    expect((await (guard(source, false) as AsyncGenerator).next()).value).toBe(value)
  })
})

test('every part has a separate lease', async () => {
  const { openStream } = lease
  const output = { later: Promise.resolve('later'), live: numbers() }
  const guarded = guardOutput(output, { openStream, isStreamed: true }) as typeof output
  expect(openStream).toHaveBeenCalledTimes(1)
  await guarded.live.next()
  expect(openStream).toHaveBeenCalledTimes(2)
  await guarded.later
  expect(lease.end).toHaveBeenCalledTimes(1)
  await guarded.live.return(null)
  expect(lease.end).toHaveBeenCalledTimes(2)
})

describe.each(['node', 'fetch'] as const)(
  'a response with several parts over JSON lines, %s adapter',
  (adapter) => {
    let server: TestServer
    beforeAll(async () => {
      server = await startServer()
    })
    afterEach(() => server.clear())
    afterAll(() => server.close())

    /** Opens the response on the wire. */
    async function open() {
      const session = await server.auth.signIn()
      server.stage.closeGate()
      const page = new AbortController()
      const response = await fetch(`http://${server.host}${PATHS[adapter]}/parts?batch=1&input={}`, {
        headers: { ...browser(session).headers, 'trpc-accept': 'application/jsonl' },
        signal: page.signal,
      })
      const wire = { text: '', isOver: false }
      const decoder = new TextDecoder()
      const sink = new WritableStream<Uint8Array>({
        write(chunk) {
          wire.text += decoder.decode(chunk, { stream: true })
        },
      })
      const read = response.body?.pipeTo(sink).catch(() => {})
      void read?.then(() => {
        wire.isOver = true
      })
      onTestFinished(() => page.abort())
      const count = (text: string) => wire.text.split(text).length - 1
      await soon(() => expect(count('"ready"')).toBe(2))
      return { session, page, wire, count }
    }

    test('is unchanged while the session is valid', async () => {
      const { wire, count } = await open()
      server.stage.openGate()
      await soon(() => expect(count('"later"')).toBeGreaterThan(0))
      await soon(() => expect(count('"ready"')).toBe(3))
      server.stage.ticker.emit('tick', 'one')
      await soon(() => expect(count('"one"')).toBe(2))
      expect(wire.isOver).toBe(false)
    })

    test('ends in every part with the reason, and nothing comes after', async () => {
      const { session, wire, count } = await open()
      await server.auth.revoke(session)
      server.stage.openGate()
      server.stage.ticker.emit('tick', 'afterwards')
      await soon(() => expect(wire.isOver).toBe(true))
      // For `later`, `live`, and `never`.
      expect(count('"reason":"SESSION_NOT_FOUND"')).toBe(3)
      expect(count('"replay":false')).toBe(3)
      expect([count('afterwards'), count('said')]).toEqual([0, 0])
      expect(server.feed.listeners).toBe(0)
    })

    test('ends in nested parts', async () => {
      const { session, wire, count } = await open()
      server.stage.openGate()
      await soon(() => expect(count('"ready"')).toBe(3))
      await server.auth.ban(session)
      server.stage.ticker.emit('tick', 'too late')
      await soon(() => expect(wire.isOver).toBe(true))
      expect(count('"reason":"ACCOUNT_BANNED"')).toBe(3)
      expect(count('too late')).toBe(0)
      expect(server.feed.listeners).toBe(0)
    })

    test('leaves no listener behind when its reader disconnects', async () => {
      const { page } = await open()
      expect(server.feed.listeners).toBe(1)
      page.abort()
      await soon(() => expect(server.feed.listeners).toBe(0))
    })
  },
)

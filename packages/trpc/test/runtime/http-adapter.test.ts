import { type Reason, validateSession } from '@sallyport/core'
import { createTestAuth } from '@sallyport/core/testing'
import { createAuthContext } from '@sallyport/trpc'
import { bindRunner, createAuthRuntime, type Runner, type RunnerCall } from '@sallyport/trpc/action'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { httpStore } from '../../src/runtime/http-adapter.ts'

const key = { sessionId: 's1', userId: 'u1', version: 1, issuer: 'http://localhost:3000' }
const storeFor = (runner: Runner) => httpStore(runner, { lookupTimeoutMs: 2_000 })
const limit = { points: 1, duration: 60 }

/** Creates a backend that returns the same result for every call. */
function answering(answer: unknown): Runner & { readonly calls: RunnerCall[] } {
  const calls: RunnerCall[] = []
  return {
    calls,
    async run(call) {
      calls.push(call)
      return answer
    },
  }
}

const unavailable: { reason: Reason } = { reason: 'SESSIONS_UNAVAILABLE' }

describe('a session', () => {
  test('is requested without an acting user, with only its key', async () => {
    const runner = answering(null)
    const identity = { ...key, issuer: 'https://app.example', keyId: 'k1', expiresAt: new Date() }
    expect(await storeFor(runner).sessions.findSession(identity)).toBeNull()
    const input = { sessionId: 's1', userId: 'u1' }
    expect(runner.calls).toEqual([{ type: 'query', path: 'sallyport.findSession', input, actor: null }])
  })

  test.each([
    ['nothing', undefined],
    ['a string', 'yes'],
    ['an object without members', {}],
    ['a session without a user', { id: 's1', userId: 'u1', expiresAt: '2030-01-01T00:00:00.000Z' }],
    [
      "another user's session",
      {
        id: 's2',
        userId: 'u2',
        expiresAt: '2030-01-01T00:00:00.000Z',
        user: { id: 'u2', role: 'user' },
        ban: null,
      },
    ],
  ])('is 503 if it is %s', async (_what, answer) => {
    const { sessions } = storeFor(answering(answer))
    await expect(validateSession(key, sessions)).rejects.toMatchObject(unavailable)
  })
})

describe('reads that begin together', () => {
  test('share ten calls, and then calls for fifty sessions each', async () => {
    const sizes: number[] = []
    const runner: Runner = {
      async run({ input }) {
        const keys = Array.isArray(input) ? input : [input]
        sizes.push(keys.length)
        return Array.isArray(input) ? keys.map(() => null) : null
      },
    }
    const { sessions } = storeFor(runner)
    const reads = Array.from({ length: 300 }, (_, index) =>
      sessions.findSession({ ...key, sessionId: `${index}` }),
    )
    expect(await Promise.all(reads)).toEqual(reads.map(() => null))
    expect(sizes).toEqual([...Array.from({ length: 10 }, () => 1), 50, 50, 50, 50, 50, 40])
  })

  test('end after two seconds, and a call that hangs does not keep its place', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const calls: RunnerCall[] = []
    const hanging = new Promise(() => {})
    let result: unknown = hanging
    const { sessions } = storeFor({
      async run(call) {
        calls.push(call)
        return result
      },
    })
    const reads = Promise.allSettled(Array.from({ length: 1_000 }, () => sessions.findSession(key)))
    await vi.advanceTimersByTimeAsync(2_200)
    expect((await reads).every(({ status }) => status === 'rejected')).toBe(true)
    // The other reads are over, so no call sends them.
    await vi.advanceTimersByTimeAsync(2_200)
    expect(calls).toHaveLength(10)
    result = null
    expect(await sessions.findSession(key)).toBeNull()
  })

  test('do not fail with the session of another user, such as one that exceeds the size of a response', async () => {
    const runner: Runner = {
      async run({ input }) {
        const keys = Array.isArray(input) ? input : [input]
        if (keys.some(({ sessionId }) => sessionId === '17')) throw new Error('The response is too large')
        return Array.isArray(input) ? keys.map(() => null) : null
      },
    }
    const { sessions } = storeFor(runner)
    const reads = Array.from({ length: 60 }, (_, index) =>
      sessions.findSession({ ...key, sessionId: `${index}` }),
    )
    const failed = (await Promise.allSettled(reads)).flatMap(({ status }, index) =>
      status === 'rejected' ? [index] : [],
    )
    expect(failed).toEqual([17])
  })

  test('do not become a call for each session while the backend is down', async () => {
    let calls = 0
    const runner: Runner = {
      async run() {
        calls++
        throw new Error('The backend is down')
      },
    }
    const { sessions } = storeFor(runner)
    const reads = Array.from({ length: 60 }, () => sessions.findSession(key))
    const failed = await Promise.allSettled(reads)
    expect(failed.every(({ status }) => status === 'rejected')).toBe(true)
    expect(calls).toBeLessThan(30)
  })

  test.each([[true], [[]], [[null]], [{ length: 2 }]])('are 503 if the result is %j', async (answer) => {
    const { sessions } = storeFor(answering(answer))
    const reads = Array.from({ length: 12 }, () => validateSession(key, sessions))
    for (const read of (await Promise.allSettled(reads)).slice(10))
      expect(read).toMatchObject({ status: 'rejected', reason: unavailable })
  })
})

describe('an attempt', () => {
  test.each([null, 42])('is counted at the database: %s', async (seconds) => {
    const runner = answering(seconds)
    expect(await storeFor(runner).limits?.consume('procedure:a', limit)).toBe(seconds)
    expect(runner.calls).toEqual([
      {
        type: 'mutation',
        path: 'sallyport.consumeLimit',
        input: { key: 'procedure:a', limit },
        actor: null,
      },
    ])
  })

  test.each([[undefined], [true], ['1'], [{}]])('with the result %j is 503', async (answer) => {
    await expect(storeFor(answering(answer)).limits?.consume('procedure:a', limit)).rejects.toMatchObject(
      unavailable,
    )
  })
})

test('an endpoint receives the headers that it reads, and no others', async () => {
  const { config, definition, close } = await createTestAuth()
  onTestFinished(() => close())
  const read = {
    authorization: 'Bearer a.b.c',
    cookie: 'service.session=a.b',
    origin: 'https://app.example',
    purpose: 'prefetch',
    referer: 'https://app.example/page',
    'sec-fetch-dest': 'document',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-site': 'cross-site',
    'sec-purpose': 'prefetch;prerender',
    'user-agent': 'Firefox',
    'x-moz': 'prefetch',
    'x-sallyport': '1',
    'x-sallyport-session': 'none',
  }
  const auth = createAuthContext(config).headers({ ...read, accept: '*/*', 'x-forwarded-for': '192.0.2.1' })
  const runner = answering({ body: {} })
  await createAuthRuntime(() => definition)
    .getAuth({ ...auth, ...bindRunner(runner) })
    .api.getSession()
  expect(runner.calls).toMatchObject([{ path: 'sallyport.queryEndpoint' }])
  expect(runner.calls[0]?.input).toMatchObject({ name: 'getSession', input: {} })
  expect(Object(runner.calls[0]?.input).request).toEqual({
    method: 'GET',
    headers: read,
    remoteAddress: null,
  })
})

test('there is no revocation feed, so streams look the session up', () => {
  const { revocations } = storeFor(answering(null))
  revocations.publish({ sessionId: 's1', userId: 'u1' })
  expect(revocations.revision).toBe(0)
  expect(() => revocations.subscribe(key, () => {})()).not.toThrow()
})

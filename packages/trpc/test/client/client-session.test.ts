import { type AuthClient, AuthClientError, createAuthClient } from '@sallyport/trpc/client'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { clientSession } from '../../src/client/client-session.ts'
import { type Answer, rejection, scriptFetch, tokens } from '../support/scripted-fetch.ts'

const TOKEN = '/backend/token'
const SIGN_OUT = '/sign-out'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

type Options = Parameters<typeof createAuthClient<Api>>[0]
interface Api {
  signInEmail(input: { email: string; password: string }): Promise<object>
  getSession(): Promise<{ user: string }>
  revokeSession(input: { sessionId: string }): Promise<object>
  revokeSessions(input: object): Promise<object>
  deleteUser(input: object): Promise<object>
}

/** Creates a client with a scripted server. */
function open(options: Options = {}) {
  const server = scriptFetch()
  const client = createAuthClient<Api>({
    isServer: false,
    baseUrl: 'http://localhost',
    fetch: server.fetch,
    ...options,
  })
  const states: string[] = []
  const listen = () => {
    const stop = client.subscribe(() => states.push(client.getState().status))
    onTestFinished(stop)
    return stop
  }
  return { client, session: client[clientSession], server, states, listen }
}

/** Creates a client that is signed in as Ada, and records later states. */
async function signedIn(options: Options = {}) {
  const scene = open(options)
  scene.server.answer(TOKEN, () => tokens())
  scene.listen()
  await scene.client.refresh()
  expect(scene.client.getState()).toEqual({ ...ada, userChanges: 0 })
  scene.server.sent.length = 0
  scene.states.length = 0
  return scene
}

const ada = { status: 'authenticated', userId: 'ada', sessionId: 'ada-1', error: null }
const grace = { status: 'authenticated', userId: 'grace', sessionId: 'grace-1', error: null }
const noUser = { status: 'unauthenticated', userId: null, sessionId: null, error: null }
const asGrace = () => tokens({ userId: 'grace', sessionId: 'grace-1' })
const signIn = (client: AuthClient<Api>) =>
  client.api.signInEmail({ email: 'grace@example.com', password: 'x' })

/** Runs everything that doesn't need a timer. */
const settle = () => vi.advanceTimersByTimeAsync(0)

/** Responses that prove that the session has ended. */
const ENDS: readonly (readonly [name: string, answer: Answer])[] = [
  ['SESSION_NOT_FOUND', () => rejection(401, 'SESSION_NOT_FOUND')],
  ['SESSION_EXPIRED', () => rejection(401, 'SESSION_EXPIRED')],
]

/** Responses that prove nothing about the session. The client retries those that may change over time. */
const UNCERTAIN: readonly (readonly [code: string, what: string, isRetried: boolean, answer: Answer])[] = [
  ['UNREACHABLE', 'no network', true, () => Promise.reject(new TypeError('fetch failed'))],
  ['SESSIONS_UNAVAILABLE', '503', true, () => rejection(503, 'SESSIONS_UNAVAILABLE')],
  ['KEYS_UNAVAILABLE', '503', true, () => rejection(503, 'KEYS_UNAVAILABLE')],
  ['UNKNOWN', 'a 502 of a proxy', true, () => new Response('<html>', { status: 502 })],
  ['UNKNOWN', 'a 401 of a proxy', true, () => new Response('<html>', { status: 401 })],
  ['UNKNOWN', 'a page to sign in to a network', true, () => new Response('<html>')],
  ['UNKNOWN', 'JSON of something else', true, () => Response.json({})],
  ['UNKNOWN', 'a lifetime that is not a number', true, () => tokens({ expiresIn: 'soon' })],
  ['UNKNOWN', 'no lifetime', true, () => tokens({ expiresIn: 0 })],
  ['INTERNAL_ERROR', '500', true, () => rejection(500, 'INTERNAL_ERROR')],
  ['SESSION_NOT_FOUND', 'a 500 with that code', true, () => rejection(500, 'SESSION_NOT_FOUND')],
  ['TOKEN_EXPIRED', 'a 401 with another code', true, () => rejection(401, 'TOKEN_EXPIRED')],
  ['RATE_LIMITED', '429', true, () => rejection(429, 'RATE_LIMITED')],
  ['ORIGIN_REJECTED', '403', true, () => rejection(403, 'ORIGIN_REJECTED')],
  ['ACCOUNT_BANNED', '403', false, () => rejection(403, 'ACCOUNT_BANNED')],
  ['COOKIE_CONFLICT', '401', false, () => rejection(401, 'COOKIE_CONFLICT')],
]

describe('the first response', () => {
  test('is requested on the first subscription, not earlier', async () => {
    const { client, server, listen } = open()
    server.answer(TOKEN, () => tokens())
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(client.getState()).toEqual({ ...noUser, status: 'loading', userChanges: 0 })
    expect(server.sent).toEqual([])
    const stop = listen()
    expect(client.getState().status).toBe('loading')
    await settle()
    expect(client.getState()).toEqual({ ...ada, userChanges: 0 })
    expect(server.count(TOKEN)).toBe(1)
    stop()
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(server.sent).toHaveLength(1)
  })

  test('is requested once if a listener unsubscribes and subscribes again', async () => {
    const { server, listen, client } = open()
    server.answer(TOKEN, () => tokens())
    listen()()
    listen()
    await settle()
    expect(client.getState().status).toBe('authenticated')
    expect(server.count(TOKEN)).toBe(1)
  })

  test.each(ENDS)('signs the user out on %s', async (_code, answer) => {
    const { client, server, listen } = open()
    server.answer(TOKEN, answer)
    listen()
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(client.getState()).toEqual({ ...noUser, userChanges: 0 })
    expect(server.count(TOKEN)).toBe(1)
  })

  test.each(UNCERTAIN)('leaves the state unknown on %s (%s)', async (code, _what, _isRetried, answer) => {
    const { client, server, listen, states } = open()
    server.answer(TOKEN, answer)
    listen()
    await settle()
    expect(client.getState()).toMatchObject({ ...noUser, status: 'unknown', userChanges: 0, error: { code } })
    server.answer(TOKEN, () => tokens())
    await client.refresh()
    // Calls may already have received responses for some user.
    expect(client.getState()).toEqual({ ...ada, userChanges: 1 })
    expect(states).toEqual(['unknown', 'authenticated'])
  })
})

describe('a signed-in user stays signed in', () => {
  test.each(UNCERTAIN)('on %s (%s) for an hour', async (code, _what, isRetried, answer) => {
    const { client, server, session } = await signedIn()
    server.answer(TOKEN, answer)
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(client.getState()).toMatchObject({ ...ada, userChanges: 0, error: { code } })
    // 46 minutes of attempts every 15 to 30 seconds, or a single definite attempt.
    if (isRetried) expect(server.count(TOKEN)).toBeGreaterThan(90)
    expect(server.count(TOKEN)).toBeLessThan(isRetried ? 190 : 2)
    // A call doesn't wait for an attempt. The client sends it.
    const before = server.sent.length
    await session.refreshDue()
    expect(server.sent).toHaveLength(before)

    server.answer(TOKEN, () => tokens())
    if (isRetried) await vi.advanceTimersByTimeAsync(30_000)
    else await client.refresh()
    expect(client.getState()).toEqual({ ...ada, userChanges: 0 })
  })

  test.each(ENDS)('until %s', async (_code, answer) => {
    const { client, server, states } = await signedIn()
    server.answer(TOKEN, answer)
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(client.getState()).toEqual({ ...noUser, userChanges: 1 })
    expect(states).toEqual(['unauthenticated'])
    expect(server.count(TOKEN)).toBe(1)
  })

  test('with attempts that double their delay, up to half a minute', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    onTestFinished(() => void vi.restoreAllMocks())
    const { server } = await signedIn()
    const at: number[] = []
    server.answer(TOKEN, () => {
      at.push(Math.round(performance.now() / 1_000))
      return rejection(503, 'SESSIONS_UNAVAILABLE')
    })
    await vi.advanceTimersByTimeAsync(1_000_000)
    const pauses = at.map((time, index) => time - (at[index - 1] ?? time))
    expect(pauses.slice(0, 9)).toEqual([0, 1, 2, 4, 8, 16, 30, 30, 30])
  })

  test('and waits longer if the server requests it', async () => {
    const { server } = await signedIn()
    server.answer(TOKEN, () => rejection(429, 'RATE_LIMITED', { retryAfterSeconds: 300 }))
    await vi.advanceTimersByTimeAsync(850_000)
    expect(server.count(TOKEN)).toBe(1)
    await vi.advanceTimersByTimeAsync(280_000)
    expect(server.count(TOKEN)).toBe(1)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(server.count(TOKEN)).toBe(2)
  })

  test('without a request storm if the requested wait exceeds the timer limit', async () => {
    const { server } = await signedIn()
    server.answer(TOKEN, () => rejection(429, 'RATE_LIMITED', { retryAfterSeconds: 1e12 }))
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(server.count(TOKEN)).toBe(1)
  })

  test('and a hidden page retries a failed refresh, but then keeps no session alive', async () => {
    const { client, server } = await signedIn()
    server.answer(TOKEN, () => rejection(503, 'SESSIONS_UNAVAILABLE'))
    await client.refresh()
    vi.stubGlobal('document', { hidden: true })
    onTestFinished(() => void vi.unstubAllGlobals())
    server.answer(TOKEN, () => tokens())
    await vi.advanceTimersByTimeAsync(1_000)
    expect(client.getState()).toEqual({ ...ada, userChanges: 0 })
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(server.count(TOKEN)).toBe(2)
  })

  test("after the client gives up on a server that doesn't respond", async () => {
    const { client, server } = await signedIn()
    server.answer(TOKEN, () => new Promise(() => {}))
    const refreshing = client.refresh()
    await vi.advanceTimersByTimeAsync(15_000)
    expect(await refreshing).toMatchObject({ ...ada, error: { code: 'UNREACHABLE' } })
  })
})

describe('the client refreshes a JWT', () => {
  test('a minute before it expires, or up to ten seconds earlier', async () => {
    for (const [random, seconds] of [
      [0, 840],
      [0.999_99, 830],
    ] as const) {
      vi.spyOn(Math, 'random').mockReturnValue(random)
      onTestFinished(() => void vi.restoreAllMocks())
      const { server } = await signedIn()
      await vi.advanceTimersByTimeAsync(seconds * 1_000 - 1)
      expect(server.count(TOKEN)).toBe(0)
      await vi.advanceTimersByTimeAsync(2)
      expect(server.count(TOKEN)).toBe(1)
      await vi.advanceTimersByTimeAsync(seconds * 1_000)
      expect(server.count(TOKEN)).toBe(2)
    }
  })

  test('before a call when it is due, once for all calls', async () => {
    const { server, session } = open({ hydrate: { ...rendered, expiresIn: 100 } })
    const answer = Promise.withResolvers<Response>()
    server.answer(TOKEN, () => answer.promise)
    await vi.advanceTimersByTimeAsync(49_000)
    await session.refreshDue()
    expect(server.sent).toEqual([])
    await vi.advanceTimersByTimeAsync(2_000)
    const calls = Promise.all(Array.from({ length: 100 }, () => session.refreshDue()))
    await settle()
    answer.resolve(tokens())
    await calls
    await session.refreshDue()
    expect(server.count(TOKEN)).toBe(1)
    expect(session.get().seq).toBeGreaterThan(0)
  })

  test.each([1, 30, 60, 61])('without a loop if its lifetime is %i seconds', async (expiresIn) => {
    const { server } = await signedIn()
    server.answer(TOKEN, () => tokens({ expiresIn }))
    await vi.advanceTimersByTimeAsync(840_000)
    const before = server.sent.length
    await vi.advanceTimersByTimeAsync(60_000)
    expect(server.sent.length - before).toBeLessThanOrEqual(expiresIn === 1 ? 60 : 6)
  })

  test('by the first call without listeners, also if the system clock was set back', async () => {
    const { client, server, session } = open()
    server.answer(TOKEN, () => tokens())
    await client.refresh()
    vi.setSystemTime(Date.now() - 24 * 60 * 60 * 1_000)
    await vi.advanceTimersByTimeAsync(839_000)
    await session.refreshDue()
    expect(server.count(TOKEN)).toBe(1)
    await vi.advanceTimersByTimeAsync(1_000)
    await session.refreshDue()
    expect(server.count(TOKEN)).toBe(2)
  })

  test('on time, whatever the system clock shows', async () => {
    const { client, server, session } = await signedIn()
    const day = 24 * 60 * 60 * 1_000
    const step = async (by: number) => {
      vi.setSystemTime(Date.now() + by)
      await session.refreshDue()
      await vi.advanceTimersByTimeAsync(1_000)
    }
    // If the clock is set back, the monotonic clock still triggers the refresh in time.
    await step(-day)
    expect(server.count(TOKEN)).toBe(0)
    await vi.advanceTimersByTimeAsync(840_000)
    expect(server.count(TOKEN)).toBe(1)
    // If it is set forward, or the laptop wakes up: one early refresh, and none after it.
    await step(day)
    expect(server.count(TOKEN)).toBe(2)
    for (let i = 0; i < 10; i++) await step(i % 2 === 0 ? -day : day)
    expect(server.count(TOKEN)).toBe(2)
    expect(client.getState()).toEqual({ ...ada, userChanges: 0 })
  })
})

const rendered = { status: 'authenticated', userId: 'ada', sessionId: 'ada-1', expiresIn: 900 } as const

describe('a server-rendered page', () => {
  test.each([
    { hydrate: rendered, state: ada, requests: 0 },
    { hydrate: { status: 'unauthenticated' } as const, state: noUser, requests: 0 },
    { hydrate: { status: 'unknown' } as const, state: { ...noUser, status: 'unknown' }, requests: 1 },
    { hydrate: undefined, state: { ...noUser, status: 'loading' }, requests: 1 },
  ])('begins as $state.status', async ({ hydrate, state, requests }) => {
    const { client, server, listen } = open({ hydrate })
    server.answer(TOKEN, () => tokens())
    expect(client.getState()).toEqual({ ...state, userChanges: 0 })
    expect(client.getServerState()).toEqual({ ...state, userChanges: 0 })
    expect(client.getServerState()).toBe(client.getServerState())
    listen()
    await settle()
    expect(server.count(TOKEN)).toBe(requests)
    expect(client.getServerState()).toEqual({ ...state, userChanges: 0 })
  })

  test('of a banned user starts with the ban, and recovers when the ban is lifted', async () => {
    const { client, server, listen } = open({ hydrate: { status: 'unknown', reason: 'ACCOUNT_BANNED' } })
    server.answer(TOKEN, () => tokens())
    const banned = { status: 403, code: 'ACCOUNT_BANNED', message: 'Account banned' }
    expect(client.getState()).toMatchObject({ ...noUser, status: 'unknown', userChanges: 0, error: banned })
    listen()
    await settle()
    expect(client.getState()).toEqual({ ...ada, userChanges: 1 })
  })

  test.each([
    { from: 'the network', timing: { type: 'navigate', deliveryType: '' }, requests: 0 },
    { from: 'the network, on a return', timing: { type: 'back_forward', deliveryType: '' }, requests: 0 },
    { from: 'the cache', timing: { type: 'navigate', deliveryType: 'cache' }, requests: 1 },
    { from: 'the network, without `deliveryType`', timing: { type: 'navigate' }, requests: 0 },
    { from: 'a reload, without `deliveryType`', timing: { type: 'reload' }, requests: 0 },
    {
      from: 'the history or a restored tab, without `deliveryType`',
      timing: { type: 'back_forward' },
      requests: 1,
    },
  ])('from $from sends $requests requests before its first call', async ({ timing, requests }) => {
    const entries = [{ responseStart: performance.now(), ...timing }]
    vi.spyOn(performance, 'getEntriesByType').mockReturnValue(entries as never)
    onTestFinished(() => void vi.restoreAllMocks())
    const { client, server, session } = open({ hydrate: rendered })
    server.answer(TOKEN, () => tokens({ userId: 'grace', sessionId: 'grace-1' }))
    await session.refreshDue()
    expect(server.count(TOKEN)).toBe(requests)
    expect(client.getState().userId).toBe(requests ? 'grace' : 'ada')
  })

  test("measures the JWT's age from the first byte of the page", async () => {
    await vi.advanceTimersByTimeAsync(500_000)
    const entries = [{ responseStart: performance.now() - 400_000 }]
    vi.spyOn(performance, 'getEntriesByType').mockReturnValue(entries as never)
    onTestFinished(() => void vi.restoreAllMocks())
    const { server, listen } = open({ hydrate: rendered })
    server.answer(TOKEN, () => tokens())
    listen()
    await vi.advanceTimersByTimeAsync(429_000)
    expect(server.count(TOKEN)).toBe(0)
    await vi.advanceTimersByTimeAsync(12_000)
    expect(server.count(TOKEN)).toBe(1)
  })
})

describe('a rejected call', () => {
  test('with an older JWT needs no refresh', async () => {
    const { server, session } = await signedIn()
    await session.refreshAfter(session.get().seq - 1)
    expect(server.sent).toEqual([])
    await session.refreshAfter(session.get().seq)
    expect(server.count(TOKEN)).toBe(1)
  })

  test('causes one refresh for a hundred calls', async () => {
    const { server, session } = await signedIn()
    const { seq } = session.get()
    await Promise.all(Array.from({ length: 100 }, () => session.refreshAfter(seq)))
    expect(server.count(TOKEN)).toBe(1)
    expect(session.get().seq).toBeGreaterThan(seq)
  })

  test('gets REFRESH_LOOP after three refreshes in a minute', async () => {
    const { client, server, session } = await signedIn()
    for (let i = 0; i < 3; i++) await session.refreshAfter(session.get().seq)
    const error = await session.refreshAfter(session.get().seq).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'REFRESH_LOOP' })
    expect(client.getState()).toEqual({ ...ada, userChanges: 0, error })
    expect(server.count(TOKEN)).toBe(3)
    await vi.advanceTimersByTimeAsync(60_000)
    await session.refreshAfter(session.get().seq)
    expect(client.getState()).toEqual({ ...ada, userChanges: 0 })
    expect(server.count(TOKEN)).toBe(4)
  })

  test('gets the error of an outage, and never REFRESH_LOOP, without listeners', async () => {
    const { client, server, session } = open({ hydrate: { ...ada, status: 'authenticated', expiresIn: 900 } })
    server.answer(TOKEN, () => rejection(503, 'SESSIONS_UNAVAILABLE'))
    for (let i = 0; i < 5; i++)
      await expect(session.refreshAfter(session.get().seq)).rejects.toMatchObject({
        code: 'SESSIONS_UNAVAILABLE',
      })
    expect(client.getState()).toMatchObject({ ...ada, error: { code: 'SESSIONS_UNAVAILABLE' } })
    expect(server.count(TOKEN)).toBe(3)
  })

  test('of a signed-out user sends no request', async () => {
    const { server, session } = open({ hydrate: { status: 'unauthenticated' } })
    await expect(session.refreshAfter(session.get().seq)).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    expect(server.sent).toEqual([])
  })

  test.each(ENDS)('gets the end of the session: %s', async (_code, answer) => {
    const { client, server, session } = await signedIn()
    server.answer(TOKEN, answer)
    const ended = { code: 'SESSION_NOT_FOUND', status: 401 }
    await expect(session.refreshAfter(session.get().seq)).rejects.toMatchObject(ended)
    expect(client.getState()).toEqual({ ...noUser, userChanges: 1 })
    await expect(session.refreshAfter(session.get().seq)).rejects.toMatchObject(ended)
    expect(server.count(TOKEN)).toBe(1)
  })

  test('gets the reason of an undecided refresh, and causes no request between two attempts', async () => {
    const { client, server, session } = await signedIn()
    server.answer(TOKEN, () => rejection(503, 'SESSIONS_UNAVAILABLE'))
    for (let i = 0; i < 20; i++)
      await expect(session.refreshAfter(session.get().seq)).rejects.toMatchObject({
        code: 'SESSIONS_UNAVAILABLE',
      })
    expect(server.count(TOKEN)).toBe(1)
    expect(client.getState()).toMatchObject({ ...ada, error: { code: 'SESSIONS_UNAVAILABLE' } })
  })
})

describe('a call that was rejected because its session has ended', () => {
  test.each(ENDS)('makes the client ask the token endpoint: %s', async (code, answer) => {
    const { client, server, session } = await signedIn()
    server.answer(TOKEN, answer)
    session.report('SESSION_NOT_FOUND', 0)
    session.report('SESSION_NOT_FOUND', 0)
    await settle()
    expect(client.getState()).toEqual({ ...noUser, userChanges: 1 })
    expect(server.count(TOKEN)).toBe(1)
    expect(code).toMatch(/^SESSION_/)
  })

  test('changes nothing if the token endpoint disagrees, and causes at most three requests a minute', async () => {
    const { client, server, session } = await signedIn()
    for (let i = 0; i < 10; i++) {
      session.report('SESSION_NOT_FOUND', 0)
      await settle()
    }
    expect(client.getState()).toEqual({ ...ada, userChanges: 0 })
    expect(server.count(TOKEN)).toBe(3)
  })

  test('causes one request, even among many', async () => {
    const { server, session } = await signedIn()
    for (let i = 0; i < 10; i++) session.report('SESSION_NOT_FOUND', 0)
    await settle()
    expect(server.count(TOKEN)).toBe(1)
    await session.refreshAfter(session.get().seq)
    await session.refreshAfter(session.get().seq)
    expect(server.count(TOKEN)).toBe(3)
  })

  test("from before a change of user doesn't affect the new user", async () => {
    const { client, server, session } = await signedIn()
    server.answer('/sign-in/email', asGrace)
    await signIn(client)
    session.report('SESSION_NOT_FOUND', 0)
    await settle()
    expect(server.count(TOKEN)).toBe(0)
    expect(client.getState()).toEqual({ ...grace, userChanges: 1 })
  })

  test('or its user is banned shows the ban once, and keeps the user', async () => {
    const { client, server, session } = await signedIn()
    server.answer(TOKEN, () => rejection(403, 'ACCOUNT_BANNED'))
    for (let i = 0; i < 10; i++) {
      session.report('ACCOUNT_BANNED', 0)
      await settle()
    }
    expect(client.getState()).toMatchObject({
      ...ada,
      userChanges: 0,
      error: { code: 'ACCOUNT_BANNED', status: 403 },
    })
    expect(server.count(TOKEN)).toBe(1)
  })
})

describe('a sign-out', () => {
  test('has the status signing-out until the server confirms it', async () => {
    const { client, server, states } = await signedIn()
    const answer = Promise.withResolvers<Response>()
    const order: string[] = []
    server.answer(SIGN_OUT, () => {
      order.push('POST')
      return answer.promise
    })
    onTestFinished(client.subscribe(() => order.push(client.getState().status)))
    const done = client.signOut().then(() => order.push('done'))
    expect(order).toEqual(['signing-out'])
    expect(client.getState()).toEqual({ ...ada, status: 'signing-out', userChanges: 0 })
    await settle()
    expect(order).toEqual(['signing-out', 'POST'])
    answer.resolve(Response.json({ success: true }))
    await done
    expect(order).toEqual(['signing-out', 'POST', 'unauthenticated', 'done'])
    expect(client.getState()).toEqual({ ...noUser, userChanges: 1 })
    expect(states).toEqual(['signing-out', 'unauthenticated'])
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(server.sent).toHaveLength(1)
  })

  test.each(UNCERTAIN.filter(([, , isRetried, answer]) => isRetried && answer !== undefined).slice(0, 4))(
    'is retried on %s (%s), and never claims success',
    async (code, _what, _isRetried, answer) => {
      const { client, server, states } = await signedIn()
      server.answer(SIGN_OUT, answer)
      const done = client.signOut()
      await vi.advanceTimersByTimeAsync(600_000)
      expect(client.getState()).toMatchObject({ status: 'signing-out', userId: 'ada', error: { code } })
      expect(server.count(SIGN_OUT)).toBeGreaterThan(15)
      expect(server.count(TOKEN)).toBe(0)
      server.answer(SIGN_OUT, () => Response.json({ success: true }))
      await vi.advanceTimersByTimeAsync(30_000)
      await done
      expect(client.getState()).toEqual({ ...noUser, userChanges: 1 })
      expect(new Set(states.slice(0, -1))).toEqual(new Set(['signing-out']))
    },
  )

  test.each([
    ['COOKIE_CONFLICT', 401],
    ['ORIGIN_REJECTED', 403],
  ])('that is rejected with %s leaves the user signed in and shows the error', async (code, status) => {
    const { client, server } = await signedIn()
    server.answer(SIGN_OUT, () => rejection(status, code))
    expect((await client.signOut()).error).toMatchObject({ code, status })
    expect(client.getState()).toMatchObject({ ...ada, userChanges: 0, error: { code } })
    expect(server.count(SIGN_OUT)).toBe(1)
  })

  test('is only confirmed by a response of the endpoint', async () => {
    const { client, server } = await signedIn()
    server.answer(SIGN_OUT, () => Response.json({ portal: 'welcome' }))
    const done = client.signOut()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(client.getState()).toMatchObject({ status: 'signing-out', error: { code: 'UNKNOWN' } })
    server.answer(SIGN_OUT, () => Response.json({ success: true }))
    await vi.advanceTimersByTimeAsync(30_000)
    await done
  })

  test.each(ENDS)('succeeds if the session had already ended: %s', async (_code, answer) => {
    const { client, server } = await signedIn()
    server.answer(SIGN_OUT, answer)
    await client.signOut()
    expect(client.getState()).toEqual({ ...noUser, userChanges: 1 })
  })

  test('before the session is known asks the server anyway', async () => {
    const { client, server, listen, states } = open()
    const late = Promise.withResolvers<Response>()
    server.answer(TOKEN, () => late.promise)
    server.answer(SIGN_OUT, () => Response.json({ success: true }))
    listen()
    const done = client.signOut()
    const refreshing = client.refresh()
    late.resolve(tokens())
    await done
    await refreshing
    // Calls may already have responses.
    expect(client.getState()).toEqual({ ...noUser, userChanges: 1 })
    expect(states).toEqual(['signing-out', 'unauthenticated'])
    expect(server.count(SIGN_OUT)).toBe(1)
  })

  test("is not canceled by a refresh that begins later, also if the client doesn't know the session", async () => {
    const { client, server, listen } = open()
    server.answer(SIGN_OUT, () => rejection(503, 'SESSIONS_UNAVAILABLE'))
    listen()
    const done = client.signOut()
    await settle()
    server.sent.length = 0
    server.answer(TOKEN, () => tokens())
    expect(await client.refresh()).toMatchObject({ status: 'signing-out' })
    expect(server.count(TOKEN)).toBe(0)
    server.answer(SIGN_OUT, () => Response.json({ success: true }))
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await done).toMatchObject(noUser)
  })

  test('runs once if it is called twice', async () => {
    const { client, server } = await signedIn()
    server.answer(SIGN_OUT, () => Response.json({ success: true }))
    await Promise.all([client.signOut(), client.signOut()])
    expect(server.count(SIGN_OUT)).toBe(1)
  })

  test('is not undone by a refresh in flight', async () => {
    const { client, server, session, states } = await signedIn()
    const late = Promise.withResolvers<Response>()
    server.answer(TOKEN, () => late.promise)
    server.answer(SIGN_OUT, () => Response.json({ success: true }))
    const refreshing = client.refresh()
    const refreshed = session.refreshAfter(session.get().seq).catch((error: unknown) => error)
    await settle()
    const leaving = client.signOut()
    await settle()
    // It waits: the response to the refresh may set cookies.
    expect(server.count(SIGN_OUT)).toBe(0)
    late.resolve(tokens())
    await Promise.all([refreshing, leaving])
    expect(await refreshed).toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await settle()
    expect(client.getState()).toEqual({ ...noUser, userChanges: 1 })
    expect(states).toEqual(['signing-out', 'unauthenticated'])
  })

  test('that an effect of a failed refresh requests is sent at once', async () => {
    const { client, server } = await signedIn()
    server.answer(TOKEN, () => rejection(403, 'ACCOUNT_BANNED'))
    server.answer(SIGN_OUT, () => Response.json({ success: true }))
    onTestFinished(
      client.subscribe(() => {
        // React runs effects in a microtask.
        if (client.getState().error) queueMicrotask(client.signOut)
      }),
    )
    await client.refresh()
    await settle()
    expect(client.getState()).toEqual({ ...noUser, userChanges: 1 })
    expect(server.count(SIGN_OUT)).toBe(1)
  })

  test('continues if a listener throws, and the later listeners are called', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => log.mockRestore())
    const { client, server } = await signedIn()
    server.answer(SIGN_OUT, () => Response.json({ success: true }))
    const error = new Error('a mistake')
    onTestFinished(
      client.subscribe(() => {
        throw error
      }),
    )
    const later = vi.fn()
    onTestFinished(client.subscribe(later))
    expect(await client.signOut()).toEqual({ ...noUser, userChanges: 1 })
    expect(later).toHaveBeenCalledTimes(2)
    expect(log.mock.calls).toEqual([[error], [error]])
  })

  test('ends when a user signs in meanwhile', async () => {
    const { client, server } = await signedIn()
    server.answer(SIGN_OUT, () => rejection(503, 'SESSIONS_UNAVAILABLE'))
    server.answer('/sign-in/email', asGrace)
    const done = client.signOut()
    await settle()
    await signIn(client)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await done).toEqual({ ...grace, userChanges: 1 })
    expect(client.getState()).toEqual({ ...grace, userChanges: 1 })
    expect(server.count(SIGN_OUT)).toBe(1)
  })

  test("of the next user isn't ignored while that of the former one is pausing", async () => {
    const { client, server } = await signedIn()
    server.answer(SIGN_OUT, () => rejection(503, 'SESSIONS_UNAVAILABLE', { retryAfterSeconds: 5 }))
    server.answer('/sign-in/email', asGrace)
    const former = client.signOut()
    await settle()
    await signIn(client)
    server.answer(SIGN_OUT, () => Response.json({ success: true }))
    expect(await client.signOut()).toEqual({ ...noUser, userChanges: 2 })
    expect(server.count(SIGN_OUT)).toBe(2)
    await vi.advanceTimersByTimeAsync(6_000)
    await former
    expect(server.count(SIGN_OUT)).toBe(2)
  })
})

describe('another user', () => {
  test('is a change of user, and gets no pending responses of the previous one', async () => {
    const { client, server, states } = await signedIn()
    const [lateTokens, lateSession] = [Promise.withResolvers<Response>(), Promise.withResolvers<Response>()]
    server.answer(TOKEN, () => lateTokens.promise)
    server.answer('/session', () => lateSession.promise)
    server.answer('/sign-in/email', asGrace)
    const refreshing = client.refresh()
    const read = client.api.getSession().catch((error: unknown) => error)
    await settle()
    const signingIn = signIn(client)
    await settle()
    // A late response would replace the new user's cookies with the old user's.
    expect(server.count('/sign-in/email')).toBe(0)
    lateTokens.resolve(tokens())
    await signingIn
    lateSession.resolve(Response.json({ user: 'ada' }))
    await refreshing
    expect(await read).toMatchObject({ code: 'USER_CHANGED' })
    expect(client.getState()).toEqual({ ...grace, userChanges: 1 })
    expect(states).toEqual(['authenticated', 'authenticated'])
  })

  test.each([
    ['loading', undefined],
    ['unknown', { status: 'unknown' }],
    ['unauthenticated', { status: 'unauthenticated' }],
  ] as const)(
    'who signs in while the state is %s increments userChanges, since calls may already have responses',
    async (_status, hydrate) => {
      const { client, server } = open({ hydrate })
      server.answer('/sign-in/email', asGrace)
      await signIn(client)
      expect(client.getState()).toEqual({ ...grace, userChanges: 1 })
    },
  )

  test('is not affected by a pending call of the previous user', async () => {
    const { client, server } = await signedIn()
    const late = Promise.withResolvers<Response>()
    server.answer('/sign-in/email', () => late.promise)
    server.answer('/delete-user', () => Response.json({ success: true }))
    const signingIn = signIn(client)
    const deleting = client.api.deleteUser({}).catch((error: unknown) => error)
    await settle()
    late.resolve(asGrace())
    await signingIn
    expect(await deleting).toMatchObject({ code: 'USER_CHANGED' })
    expect(server.count('/delete-user')).toBe(0)
  })

  test.each(['signInvoice', 'signupStatus', 'signingStart'])(
    "is not affected by a pending call of %s(), which isn't a sign-in",
    async (name) => {
      const server = scriptFetch()
      const client = createAuthClient<Record<string, (input?: object) => Promise<object>>>({
        isServer: false,
        baseUrl: 'http://localhost',
        fetch: server.fetch,
        routes: { [name]: { path: '/approve', method: 'POST' } },
      })
      const none = () => Promise.resolve({})
      const { signInEmail = none, [name]: approve = none } = client.api
      server.answer(TOKEN, () => tokens())
      server.answer('/approve', () => Response.json({}))
      await client.refresh()
      const late = Promise.withResolvers<Response>()
      server.answer('/sign-in/email', () => late.promise)
      const signingIn = signInEmail({ email: 'grace@example.com', password: 'x' })
      const approving = approve({}).catch((error: unknown) => error)
      await settle()
      late.resolve(asGrace())
      await signingIn
      expect(await approving).toMatchObject({ code: 'USER_CHANGED' })
      expect(server.count('/approve')).toBe(0)
    },
  )

  test('in the cookies is adopted as a change of user', async () => {
    const { client, server } = await signedIn()
    server.answer(TOKEN, asGrace)
    expect(await client.refresh()).toEqual({ ...grace, userChanges: 1 })
  })

  test('or another session of the same user is adopted the same way', async () => {
    const { client, server } = await signedIn()
    server.answer(TOKEN, () => tokens({ sessionId: 'ada-2' }))
    expect(await client.refresh()).toEqual({ ...ada, sessionId: 'ada-2', userChanges: 1 })
  })

  test('whose sign-in fails changes nothing', async () => {
    const { client, server, states } = await signedIn()
    server.answer('/sign-in/email', () => rejection(401, 'INVALID_CREDENTIALS'))
    await expect(signIn(client)).rejects.toBeInstanceOf(AuthClientError)
    server.answer('/sign-in/email', () => rejection(403, 'ACCOUNT_BANNED'))
    await expect(signIn(client)).rejects.toMatchObject({ code: 'ACCOUNT_BANNED' })
    await settle()
    expect(client.getState()).toEqual({ ...ada, userChanges: 0 })
    expect(new Set(states)).toEqual(new Set(['authenticated']))
  })
})

describe('calls of the auth endpoints', () => {
  test('are sent again once with a new JWT', async () => {
    const { client, server, session } = await signedIn()
    const { seq } = session.get()
    server.answer('/session', () =>
      session.get().seq === seq ? rejection(401, 'TOKEN_EXPIRED') : Response.json({ user: 'ada' }),
    )
    expect(await client.api.getSession()).toEqual({ user: 'ada' })
    expect(server.sent.map(({ path }) => path)).toEqual(['/session', TOKEN, '/session'])
    server.answer('/session', () => rejection(401, 'TOKEN_INVALID'))
    await expect(client.api.getSession()).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    expect(server.count('/session')).toBe(4)
    expect(server.count(TOKEN)).toBe(2)
  })

  test.each([
    ['revokeSessions', '/revoke-sessions'],
    ['deleteUser', '/delete-user'],
    ['revokeSession', '/revoke-session'],
  ] as const)('%s: the client checks whether its own session has ended', async (method, path) => {
    const { client, server } = await signedIn()
    server.answer(path, () => Response.json({}))
    const call: (input: { sessionId: string }) => Promise<object> = client.api[method]
    await call({ sessionId: 'ada-1' })
    expect(client.getState()).toEqual({ ...ada, userChanges: 0 })
    server.answer(TOKEN, () => rejection(401, 'SESSION_NOT_FOUND'))
    await call({ sessionId: 'ada-1' })
    expect(client.getState()).toEqual({ ...noUser, userChanges: 1 })
    expect(server.count(TOKEN)).toBe(2)
  })
})

describe('a sign-in as another user whose response is lost', () => {
  const cutOff = () =>
    new Response(new ReadableStream({ start: (body) => body.error(new TypeError('terminated')) }))

  test.each<[what: string, answer: Answer]>([
    ['after its headers, whose cookies the browser has stored', cutOff],
    ['as a whole', () => Promise.reject(new TypeError('fetch failed'))],
  ])('%s, makes later calls wait for the current user', async (_what, answer) => {
    const { client, session, server } = await signedIn()
    server.answer('/sign-in/email', answer)
    server.answer(TOKEN, asGrace)
    const error: unknown = await signIn(client).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(AuthClientError)
    await session.refreshDue()
    expect(client.getState()).toEqual({ ...grace, userChanges: 1 })
    expect(server.count(TOKEN)).toBe(1)
  })

  test.each([
    [401, 'INVALID_CREDENTIALS'],
    [429, 'RATE_LIMITED'],
    [503, 'SESSIONS_UNAVAILABLE'],
  ])('changes nothing if the server responded with %d', async (status, code) => {
    const { client, session, server } = await signedIn()
    server.answer('/sign-in/email', () => rejection(status, code))
    await expect(signIn(client)).rejects.toMatchObject({ code })
    await session.refreshDue()
    expect(client.getState()).toEqual({ ...ada, userChanges: 0 })
    expect(server.count(TOKEN)).toBe(0)
  })
})

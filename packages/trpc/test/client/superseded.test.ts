import { bearer, createAuthClient } from '@sallyport/trpc/client'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { clientSession } from '../../src/client/client-session.ts'
import { rejection, scriptFetch, tokens } from '../support/scripted-fetch.ts'

const TOKEN = '/backend/token'
const SIGN_OUT = '/sign-out'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

interface Api {
  changePassword(input: object): Promise<object>
  verifyEmail(input: object): Promise<object>
  getSession(): Promise<object>
}

const superseded = () => rejection(409, 'SECRET_SUPERSEDED')
const done = () => Response.json({ success: true })

const ada = { status: 'authenticated', userId: 'ada', sessionId: 'ada-1', error: null, userChanges: 0 }
const signedOut = { status: 'unauthenticated', userId: null, sessionId: null, userChanges: 1 }

/** Creates a client of Ada with a scripted server. */
async function signedIn() {
  const server = scriptFetch()
  const client = createAuthClient<Api>({ isServer: false, baseUrl: 'http://localhost', fetch: server.fetch })
  server.answer(TOKEN, () => tokens())
  onTestFinished(client.subscribe(() => {}))
  await client.refresh()
  server.sent.length = 0
  server.answer(SIGN_OUT, done)
  return { client, session: client[clientSession], server }
}

const settle = () => vi.advanceTimersByTimeAsync(0)

describe('a superseded session secret', () => {
  test('is retried after 0.2, 1, and 3 s, and the user stays signed in when a retry succeeds', async () => {
    const { client, server } = await signedIn()
    const at: number[] = []
    const start = performance.now()
    server.answer(TOKEN, () => {
      at.push(Math.round(performance.now() - start))
      return at.length < 4 ? superseded() : tokens()
    })
    const refreshing = client.refresh()
    await vi.advanceTimersByTimeAsync(4_199)
    expect(client.getState()).toEqual(ada)
    await vi.advanceTimersByTimeAsync(1)
    expect(await refreshing).toEqual(ada)
    expect(at).toEqual([0, 200, 1_200, 4_200])
    expect(server.count(SIGN_OUT)).toBe(0)
  })

  test('shows signed out with the reason, signs out once, and is not retried', async () => {
    const { client, server, session } = await signedIn()
    server.answer(TOKEN, superseded)
    const refreshing = client.refresh()
    await vi.advanceTimersByTimeAsync(4_200)
    const state = await refreshing
    expect(state).toMatchObject({ ...signedOut, error: { code: 'SECRET_SUPERSEDED', status: 409 } })
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(server.sent.map(({ path }) => path)).toEqual([TOKEN, TOKEN, TOKEN, TOKEN, SIGN_OUT])
    await expect(session.refreshAfter(session.get().seq)).rejects.toMatchObject({
      code: 'SECRET_SUPERSEDED',
    })
  })

  test.each([
    ['does not respond', () => new Promise<never>(() => {})],
    ['is unreachable', () => Promise.reject(new TypeError('fetch failed'))],
    ['responds with 503', () => rejection(503, 'SESSIONS_UNAVAILABLE')],
  ])('shows signed out if sign-out %s, without a long wait', async (_what, answer) => {
    const { client, server } = await signedIn()
    server.answer(TOKEN, superseded)
    server.answer(SIGN_OUT, answer)
    const refreshing = client.refresh()
    await vi.advanceTimersByTimeAsync(4_200)
    expect(client.getState()).toMatchObject(signedOut)
    await vi.advanceTimersByTimeAsync(15_000)
    expect(await refreshing).toMatchObject({ ...signedOut, error: { code: 'SECRET_SUPERSEDED' } })
    expect(server.count(SIGN_OUT)).toBe(1)
  })

  test('causes one sequence of attempts for a hundred calls', async () => {
    const { server, session } = await signedIn()
    server.answer(TOKEN, superseded)
    const { seq } = session.get()
    const calls = Array.from({ length: 100 }, () =>
      session.refreshAfter(seq).catch((error: unknown) => error),
    )
    await vi.advanceTimersByTimeAsync(4_200)
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: 'SECRET_SUPERSEDED' })
    expect(server.count(TOKEN)).toBe(4)
  })

  test('backs off as usual if the server rate-limits the attempts', async () => {
    const { client, server } = await signedIn()
    let attempts = 0
    server.answer(TOKEN, () => {
      attempts++
      return attempts === 2 ? rejection(429, 'RATE_LIMITED', { retryAfterSeconds: 60 }) : superseded()
    })
    const refreshing = client.refresh()
    await vi.advanceTimersByTimeAsync(200)
    expect(await refreshing).toMatchObject({ ...ada, error: { code: 'RATE_LIMITED' } })
    await vi.advanceTimersByTimeAsync(59_000)
    expect(attempts).toBe(2)
    server.answer(TOKEN, () => tokens())
    await vi.advanceTimersByTimeAsync(2_000)
    expect(client.getState()).toEqual(ada)
  })

  test("doesn't delay a sign-out", async () => {
    const { client, server } = await signedIn()
    server.answer(TOKEN, superseded)
    const refreshing = client.refresh()
    await settle()
    const leaving = client.signOut()
    await settle()
    expect(await leaving).toEqual({ ...signedOut, error: null })
    await refreshing
    expect(server.sent.map(({ path }) => path)).toEqual([TOKEN, SIGN_OUT])
  })

  test('is retried on a page that the server rendered as unknown', async () => {
    const server = scriptFetch()
    let attempts = 0
    server.answer(TOKEN, () => (++attempts < 3 ? superseded() : tokens()))
    const client = createAuthClient<Api>({
      isServer: false,
      fetch: server.fetch,
      hydrate: { status: 'unknown' },
    })
    onTestFinished(client.subscribe(() => {}))
    await vi.advanceTimersByTimeAsync(1_200)
    expect(client.getState()).toMatchObject({ status: 'authenticated', userId: 'ada' })
  })

  test('with another code or status is an ordinary error', async () => {
    const { client, server } = await signedIn()
    for (const [status, code] of [
      [409, 'CONFLICT'],
      [503, 'SECRET_SUPERSEDED'],
    ] as const) {
      server.answer(TOKEN, () => rejection(status, code))
      expect(await client.refresh()).toMatchObject({ ...ada, error: { code } })
    }
    expect(server.count(TOKEN)).toBe(2)
  })
})

describe('a program with bearer tokens', () => {
  const key = 'sallyport http://localhost'
  const kept = (token: string, seq: number) =>
    JSON.stringify({ userId: 'ada', sessionId: 'ada-1', expiresIn: 900, seq, token, sessionToken: token })

  async function open() {
    const items = new Map([[key, kept('old', Date.now())]])
    const storage = {
      getItem: (name: string) => items.get(name),
      setItem: (name: string, value: string) => void items.set(name, value),
      removeItem: (name: string) => void items.delete(name),
    }
    const server = scriptFetch()
    const client = createAuthClient<Api>({
      baseUrl: 'http://localhost',
      fetch: server.fetch,
      transport: bearer(storage),
    })
    onTestFinished(client.subscribe(() => {}))
    await client.refresh()
    server.answer(TOKEN, superseded)
    return { client, server, items }
  }

  test('reads its storage again before each attempt', async () => {
    const { client, server, items } = await open()
    const refreshing = client.refresh()
    await vi.advanceTimersByTimeAsync(200)
    expect(server.count(TOKEN)).toBe(2)
    items.set(key, kept('new', Date.now()))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await refreshing).toEqual(ada)
    expect(server.sent.map(({ path }) => path)).toEqual([TOKEN, TOKEN])
    expect(client[clientSession].tokens?.connectionParams().token).toBe('new')
  })

  test('keeps tokens that another process stored during the last attempt', async () => {
    const { client, server, items } = await open()
    let attempts = 0
    server.answer(TOKEN, () => {
      if (++attempts === 4) items.set(key, kept('new', Date.now()))
      return superseded()
    })
    const refreshing = client.refresh()
    await vi.advanceTimersByTimeAsync(4_200)
    expect(await refreshing).toEqual(ada)
    expect(items.get(key)).toContain('new')
  })

  test('discards superseded tokens, and sends no sign-out without them', async () => {
    const { client, server, items } = await open()
    const refreshing = client.refresh()
    await vi.advanceTimersByTimeAsync(4_200)
    expect(await refreshing).toMatchObject({ ...signedOut, error: { code: 'SECRET_SUPERSEDED' } })
    expect([...items]).toEqual([])
    expect(server.count(SIGN_OUT)).toBe(0)
  })

  test('keeps both tokens of a confirmation', async () => {
    const { client, server, items } = await open()
    server.answer('/change-password', () => tokens({ token: 'JWT', sessionToken: 'secret' }))
    await client.api.changePassword({})
    expect(JSON.parse(items.get(key) ?? '')).toMatchObject({ token: 'JWT', sessionToken: 'secret' })
  })
})

describe('new credentials of the same session', () => {
  test('are adopted without a change of user', async () => {
    const { client, server, session } = await signedIn()
    const { seq } = session.get()
    server.answer('/change-password', () => tokens())
    await client.api.changePassword({})
    expect(client.getState()).toEqual(ada)
    expect(session.get().seq).toBeGreaterThan(seq)
    expect(session.get().minSeq).toBe(session.get().seq)
    await session.refreshAfter(seq)
    expect(server.count(TOKEN)).toBe(0)
  })

  test('of a refresh are adopted too, and supersede nothing', async () => {
    const { client, session } = await signedIn()
    const { minSeq } = session.get()
    await client.refresh()
    expect(session.get().minSeq).toBe(minSeq)
  })

  test('allow another attempt for a call that was rejected with two earlier JWTs', async () => {
    const { client, server } = await signedIn()
    const [first, change] = [Promise.withResolvers<Response>(), Promise.withResolvers<Response>()]
    const invalid = () => rejection(401, 'TOKEN_INVALID')
    const answers = [() => first.promise, invalid, () => Response.json({ user: 'ada' })]
    server.answer('/session', () => answers.shift()?.() ?? invalid())
    server.answer('/change-password', () => change.promise)
    const read = client.api.getSession()
    await settle()
    await client.refresh()
    const changing = client.api.changePassword({})
    await settle()
    first.resolve(invalid())
    await settle()
    change.resolve(tokens())
    await changing
    expect(await read).toEqual({ user: 'ada' })
    expect(server.count(TOKEN)).toBe(1)
    // Without newer credentials, two rejections are final.
    await expect(client.api.getSession()).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    expect(server.count('/session')).toBe(5)
  })

  test("don't cancel a sign-out", async () => {
    const { client, server } = await signedIn()
    const late = Promise.withResolvers<Response>()
    server.answer('/change-password', () => late.promise)
    const changing = client.api.changePassword({})
    await settle()
    const leaving = client.signOut()
    await settle()
    late.resolve(tokens())
    await changing
    expect(client.getState().status).toBe('signing-out')
    expect(await leaving).toEqual({ ...signedOut, error: null })
    expect(server.count(SIGN_OUT)).toBe(1)
  })

  test('come with an email change that is completed here; if it is completed elsewhere, the client checks its session', async () => {
    const { client, server } = await signedIn()
    server.answer('/verify-email', () =>
      Response.json({ success: true, userId: 'ada', sessionId: 'ada-1', expiresIn: 900, expiresAt: '' }),
    )
    await client.api.verifyEmail({})
    expect(client.getState()).toEqual(ada)
    expect(server.count(TOKEN)).toBe(0)
    server.answer('/verify-email', done)
    server.answer(TOKEN, () => rejection(401, 'SESSION_NOT_FOUND'))
    await client.api.verifyEmail({})
    expect(client.getState()).toEqual({ ...signedOut, error: null })
  })
})

import { observable } from '@trpc/server/observable'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { clientSession } from '../../src/client/client-session.ts'
import { authLink } from '../../src/links/auth-link.ts'
import { betterAuthSession } from '../../src/links/better-auth-session.ts'

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('location', new URL('http://localhost:3000'))
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const DAY_MS = 24 * 60 * 60 * 1_000

/** The atoms of Better Auth's client. */
function createClient() {
  const listeners = { session: new Set<() => void>(), signal: new Set<() => void>() }
  const refetch = vi.fn(async (_: object) => {})
  let value = { data: null as Data, error: null as Failure, isPending: true, isRefetching: false, refetch }
  const atom = (name: keyof typeof listeners) => ({
    get: () => value,
    listen: (listener: () => void) => {
      listeners[name].add(listener)
      return () => listeners[name].delete(listener)
    },
  })
  const emit = (name: keyof typeof listeners) => {
    for (const listener of listeners[name]) listener()
  }
  const client = { $store: { atoms: { session: atom('session'), $sessionSignal: atom('signal') } } }
  return {
    refetch,
    client,
    signal: () => emit('signal'),
    /** As Better Auth's client does when a sign-in succeeds. */
    signIn() {
      client.$store.atoms.$sessionSignal.get()
      setTimeout(() => emit('signal'), 10)
    },
    show(
      id: string | null,
      error: Failure = null,
      expiresAt: Date | string = new Date(Date.now() + 7 * DAY_MS),
    ) {
      value = {
        ...value,
        isPending: false,
        data: id ? { session: { id, expiresAt }, user: { id: `user of ${id}` } } : null,
        error,
      }
      emit('session')
    },
    /** As with a `customSession` that returns no session. */
    showUser(id: string) {
      value = { ...value, isPending: false, data: { user: { id } } }
      emit('session')
    },
  }
}

type Data = { session?: { id: string; expiresAt: Date | string }; user: { id: string } } | null
type Failure = { status: number; message: string } | null

test('all links of a client share its session', () => {
  const { client } = createClient()
  expect(betterAuthSession(client)[clientSession]).toBe(betterAuthSession(client)[clientSession])
})

test('the user changes with the id of the session, and not with its renewal', () => {
  const { client, show } = createClient()
  const session = betterAuthSession(client)[clientSession]
  session.subscribe(() => {})
  expect(session.getState().status).toBe('loading')
  show('one')
  expect(session.getState()).toMatchObject({ status: 'authenticated', userId: 'user of one', userChanges: 0 })
  show('one')
  expect(session.getState().userChanges).toBe(0)
  show('two')
  expect(session.getState()).toMatchObject({ sessionId: 'two', userChanges: 1 })
  show(null)
  expect(session.getState()).toMatchObject({ status: 'unauthenticated', userChanges: 2 })
  show('two')
  expect(session.getState()).toMatchObject({ status: 'authenticated', userChanges: 3 })
})

test('without a session, as with customSession, the user changes with the id of the user', () => {
  const { client, showUser } = createClient()
  const session = betterAuthSession(client)[clientSession]
  session.subscribe(() => {})
  showUser('Ada')
  expect(session.getState()).toMatchObject({ status: 'authenticated', userId: 'Ada', userChanges: 0 })
  showUser('Ada')
  expect(session.getState().userChanges).toBe(0)
  showUser('Bob')
  expect(session.getState()).toMatchObject({ userId: 'Bob', userChanges: 1 })
})

test('calls wait from a sign-in until the session is known', async () => {
  const { client, show, signal } = createClient()
  const session = betterAuthSession(client)[clientSession]
  await session.refreshDue()
  show('one')
  signal()
  const sent = vi.fn()
  const call = session.refreshDue().then(sent)
  await Promise.resolve()
  expect(sent).not.toHaveBeenCalled()
  show('two')
  await call
  expect(session.getState().sessionId).toBe('two')
})

test.each(['subscription', 'mutation'] as const)(
  'a %s right after a sign-in belongs to the new user',
  async (type) => {
    const { client, show, signIn } = createClient()
    const next = vi.fn(() => observable<never, never>(() => {}))
    const start = () => {
      const ended = vi.fn()
      const op = { type, path: 'path', id: 1, input: undefined, context: {}, signal: null }
      authLink(betterAuthSession(client))({})({ op, next }).subscribe({ error: ended, complete: ended })
      return ended
    }
    const before = start()
    show(null)
    await vi.advanceTimersByTimeAsync(0)
    expect(next).toHaveBeenCalledTimes(1)
    signIn()
    const after = start()
    // The response to a request from before the sign-in.
    show(null)
    await vi.advanceTimersByTimeAsync(50)
    expect(next).toHaveBeenCalledTimes(1)
    show('one')
    await vi.advanceTimersByTimeAsync(0)
    expect(next).toHaveBeenCalledTimes(2)
    expect(after).not.toHaveBeenCalled()
    if (type === 'subscription') expect(before).toHaveBeenCalledOnce()
  },
)

test('a call that is canceled while it waits is never sent', async () => {
  const { client, show, signal } = createClient()
  const next = vi.fn(() => observable<never, never>(() => {}))
  const op = { type: 'query', path: 'path', id: 1, input: undefined, context: {}, signal: null } as const
  const send = authLink(betterAuthSession(client))({})
  send({ op, next }).subscribe({})
  show('one')
  await vi.advanceTimersByTimeAsync(0)
  expect(next).toHaveBeenCalledOnce()
  next.mockClear()
  signal()
  send({ op, next }).subscribe({}).unsubscribe()
  show('two')
  await vi.advanceTimersByTimeAsync(0)
  expect(next).not.toHaveBeenCalled()
})

test('a call waits only briefly if another program reads the signal', async () => {
  const { client, show } = createClient()
  const session = betterAuthSession(client)[clientSession]
  await session.refreshDue()
  show('one')
  client.$store.atoms.$sessionSignal.get()
  const sent = vi.fn()
  void session.refreshDue().then(sent)
  await vi.advanceTimersByTimeAsync(99)
  expect(sent).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(sent).toHaveBeenCalledOnce()
})

test('the session is requested daily, past the cookie cache, and not after a sign-out', async () => {
  const { client, show, refetch } = createClient()
  betterAuthSession(client)[clientSession].subscribe(() => {})
  show('one')
  await vi.advanceTimersByTimeAsync(DAY_MS - 1)
  expect(refetch).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(refetch).toHaveBeenCalledExactlyOnceWith({ query: { disableCookieCache: true } })
  show(null)
  await vi.advanceTimersByTimeAsync(2 * DAY_MS)
  expect(refetch).toHaveBeenCalledTimes(1)
})

test.each([
  ['a string', () => new Date(Date.now() + DAY_MS).toISOString(), DAY_MS / 2],
  ['no date', () => 'soon', DAY_MS],
])('expiresAt may be %s', async (_name, expiresAt, delay) => {
  const { client, show, refetch } = createClient()
  betterAuthSession(client)[clientSession].subscribe(() => {})
  show('one', null, expiresAt())
  await vi.advanceTimersByTimeAsync(delay - 1)
  expect(refetch).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(refetch).toHaveBeenCalledTimes(1)
})

test('a session that ended is requested only after the response that may replace it', async () => {
  const { client, show, refetch } = createClient()
  const session = betterAuthSession(client)[clientSession]
  session.subscribe(() => {})
  show('one')
  session.report('SESSION_NOT_FOUND', 0)
  await vi.advanceTimersByTimeAsync(999)
  show('two')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(refetch).not.toHaveBeenCalled()
  session.report('SESSION_NOT_FRESH', 1)
  session.report('SESSION_NOT_FOUND', 1)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(refetch).toHaveBeenCalledTimes(1)
})

test('an outage keeps the user, and the request is repeated', async () => {
  const { client, show, refetch } = createClient()
  const session = betterAuthSession(client)[clientSession]
  session.subscribe(() => {})
  show('one')
  show('one', { status: 503, message: 'Down' })
  expect(session.getState()).toMatchObject({ status: 'authenticated', userChanges: 0 })
  await vi.advanceTimersByTimeAsync(2_000)
  expect(refetch).toHaveBeenCalledTimes(1)
})

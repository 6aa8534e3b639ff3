import { authLink, createAuthClient } from '@sallyport/trpc/client'
import {
  createTRPCClient,
  type Operation,
  type OperationResultEnvelope,
  TRPCClientError,
  type TRPCLink,
} from '@trpc/client'
import { type Observer, observable } from '@trpc/server/observable'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { AppRouter } from '../support/router.ts'
import { rejection, scriptFetch, tokens } from '../support/scripted-fetch.ts'

const TOKEN = '/backend/token'

let random: ReturnType<typeof vi.spyOn>
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  random = vi.spyOn(Math, 'random').mockReturnValue(0)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

type AppError = TRPCClientError<AppRouter>
type Sent = Observer<OperationResultEnvelope<unknown, AppError>, AppError> & { op: Operation }

/** Creates a signed-in client with a last link whose responses the test controls. */
async function open() {
  const server = scriptFetch()
  server.answer(TOKEN, () => tokens())
  const authClient = createAuthClient({ isServer: false, baseUrl: 'http://localhost', fetch: server.fetch })
  await authClient.refresh()
  const sent: Sent[] = []
  let unsubscribed = 0
  const lastLink: TRPCLink<AppRouter> = () => (call) =>
    observable((observer) => {
      sent.push({ ...observer, op: call.op })
      // An event source's link does the same.
      return () => {
        unsubscribed++
        observer.complete()
      }
    })
  const client = createTRPCClient<AppRouter>({ links: [authLink(authClient), lastLink] })
  const seen: string[] = []
  const subscription = client.numbers.subscribe(undefined, {
    onData: ({ data }) => void seen.push(String(data)),
    onConnectionStateChange: ({ state, error }) =>
      void seen.push(error ? `${state}: ${error.message}` : state),
    onError: ({ message }) => void seen.push(`failed: ${message}`),
    onComplete: () => void seen.push('completed'),
  })
  onTestFinished(() => subscription.unsubscribe())
  await settle()
  return {
    client,
    server,
    authClient,
    sent,
    seen,
    subscription,
    unsubscribed: () => unsubscribed,
    last: () => sent.at(-1) as Sent,
  }
}

/** Runs everything that doesn't need a timer. */
const settle = () => vi.advanceTimersByTimeAsync(0)
const started = { result: { type: 'started' } } as const
const state = (name: 'connecting' | 'pending') =>
  ({ result: { type: 'state', state: name, error: null } }) as const
const event = (id: number) =>
  ({ result: { type: 'data', id: String(id), data: { id: String(id), data: id } } }) as const

/** Creates an error as the server sends it. */
function failure(httpStatus: number, auth: object | null = null): AppError {
  const data = { httpStatus, auth: auth && { retryAfterSeconds: null, replay: false, ...auth } }
  return TRPCClientError.from({ error: { code: -32000, message: String(httpStatus), data } })
}
const unavailable = failure(503, { reason: 'SESSIONS_UNAVAILABLE' })
const tokenRejected = (replay: boolean) => failure(401, { reason: 'TOKEN_INVALID', replay })
/** Creates an error that a network event caused. */
const lost = () => TRPCClientError.from<AppRouter>({ type: 'error', message: 'lost' })

test.each([
  { chance: 'lowest', value: 0, pauses: [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000] },
  { chance: 'highest', value: 1, pauses: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] },
])('delays grow up to 30 seconds with the $chance random value', async ({ value, pauses }) => {
  const { sent, last } = await open()
  random.mockReturnValue(value)
  for (const pause of pauses) {
    const before = sent.length
    last().error(unavailable)
    await vi.advanceTimersByTimeAsync(pause - 1)
    expect(sent).toHaveLength(before)
    await vi.advanceTimersByTimeAsync(1)
    expect(sent).toHaveLength(before + 1)
  }
})

test('a delay is as long as the server requests', async () => {
  const { sent, last } = await open()
  last().error(failure(503, { reason: 'KEYS_UNAVAILABLE', retryAfterSeconds: 7 }))
  await vi.advanceTimersByTimeAsync(6_999)
  expect(sent).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(sent).toHaveLength(2)
})

test.each([
  { connection: 'a connection that has lasted', lastsMs: 30_001 },
  { connection: 'a short one that the server has accepted', lastsMs: 8_001, envelope: started },
])('$connection starts again with the shortest delay', async ({ lastsMs, envelope }) => {
  const { sent, last } = await open()
  for (const pause of [500, 1_000]) {
    last().error(lost())
    await vi.advanceTimersByTimeAsync(pause)
  }
  if (envelope) last().next(envelope)
  await vi.advanceTimersByTimeAsync(lastsMs)
  last().error(lost())
  await vi.advanceTimersByTimeAsync(500)
  expect(sent).toHaveLength(4)
})

describe('the error of a subscription', () => {
  test.each([
    { error: 'lost connection', make: lost },
    { error: 'time without a sign of life', make: () => new TRPCClientError<AppRouter>('Timeout') },
    { error: '502', make: () => failure(502) },
    { error: '503', make: () => failure(503) },
    { error: '504', make: () => failure(504) },
    { error: 'SESSIONS_UNAVAILABLE', make: () => unavailable },
  ])('$error is shown, and the subscription is sent again', async ({ make }) => {
    const { sent, seen, last } = await open()
    const error = make()
    last().error(error)
    await settle()
    expect(seen).toEqual([`connecting: ${error.message}`])
    await vi.advanceTimersByTimeAsync(500)
    expect(sent).toHaveLength(2)
  })

  test.each([
    { error: '400', make: () => failure(400) },
    { error: '404', make: () => failure(404) },
    { error: '429', make: () => failure(429, { reason: 'RATE_LIMITED' }) },
    { error: '500', make: () => failure(500) },
    { error: 'ROLE_REQUIRED', make: () => failure(403, { reason: 'ROLE_REQUIRED' }) },
    { error: 'bug in a transformer', make: () => TRPCClientError.from<AppRouter>(new TypeError('a bug')) },
  ])('$error ends the subscription', async ({ make }) => {
    const { sent, seen, last } = await open()
    const error = make()
    last().error(error)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(seen).toEqual([`failed: ${error.message}`])
    expect(sent).toHaveLength(1)
  })
})

describe('the error in a connection state', () => {
  test('is shown, and the subscription is sent again, for errors that only an event source would retry', async () => {
    const { sent, seen, last, unsubscribed } = await open()
    last().next({ result: { type: 'state', state: 'connecting', error: unavailable } })
    last().next(event(1))
    await settle()
    expect(seen).toEqual(['connecting: 503'])
    expect(unsubscribed()).toBe(1)
    await vi.advanceTimersByTimeAsync(500)
    expect(sent).toHaveLength(2)
  })

  test.each([
    {
      error: 'a lost WebSocket, which its client opens again',
      make: () => TRPCClientError.from(new Error('closed')),
    },
    { error: 'a bug of the server', make: () => failure(500) },
  ])('is only shown for $error', async ({ make }) => {
    const { sent, seen, last } = await open()
    const error = make()
    last().next({ result: { type: 'state', state: 'connecting', error } })
    await vi.advanceTimersByTimeAsync(60_000)
    last().next(event(1))
    expect(seen).toEqual([`connecting: ${error.message}`, '1'])
    expect(sent).toHaveLength(1)
  })
})

test('a subscription that its first envelope unsubscribes is closed', async () => {
  const { authClient } = await open()
  let isOpen = false
  const lastLink: TRPCLink<AppRouter> = () => () =>
    observable((observer) => {
      isOpen = true
      observer.next(state('pending'))
      return () => {
        isOpen = false
      }
    })
  const onChange = vi.fn()
  const client = createTRPCClient<AppRouter>({ links: [authLink(authClient), lastLink] })
  const subscription = client.numbers.subscribe(undefined, {
    onConnectionStateChange() {
      onChange()
      subscription.unsubscribe()
    },
  })
  await settle()
  expect(onChange).toHaveBeenCalledOnce()
  expect(isOpen).toBe(false)
})

describe('a subscription that is sent again', () => {
  test.each([
    { input: undefined, again: { lastEventId: '1' } },
    { input: { lastEventId: '0' }, again: { lastEventId: '1' } },
    // This input can't carry an event id.
    { input: 'text' as never, again: 'text' },
  ])('requests the events after its last one in the input $input', async ({ input, again }) => {
    const { client, sent, last } = await open()
    const subscription = client.numbers.subscribe(input, { onData() {} })
    onTestFinished(() => subscription.unsubscribe())
    await settle()
    last().next(event(1))
    last().error(lost())
    await vi.advanceTimersByTimeAsync(500)
    expect(sent.slice(1).map(({ op }) => op.input)).toEqual([input, again])
  })

  test('continues after its last event', async () => {
    const { sent, seen, last } = await open()
    last().next(event(1))
    last().next(event(2))
    last().error(lost())
    await vi.advanceTimersByTimeAsync(500)
    expect(sent.map(({ op }) => op.input)).toEqual([undefined, { lastEventId: '2' }])
    last().next(event(3))
    expect(seen).toEqual(['1', '2', 'connecting: lost', 'pending', '3'])
  })

  test('shows the error until the server has responded', async () => {
    const { seen, last } = await open()
    last().error(lost())
    await vi.advanceTimersByTimeAsync(500)
    last().next(state('connecting'))
    last().next(state('pending'))
    expect(seen).toEqual(['connecting: lost'])
    last().next(started)
    last().next(state('pending'))
    expect(seen).toEqual(['connecting: lost', 'pending', 'pending'])
  })

  test('is not sent if it was unsubscribed during a delay', async () => {
    const { sent, subscription, last } = await open()
    last().error(lost())
    await settle()
    subscription.unsubscribe()
    expect(vi.getTimerCount()).toBe(0)
    expect(sent).toHaveLength(1)
  })

  test('is not sent if the user signed out during a delay', async () => {
    const { sent, seen, authClient, server, last } = await open()
    server.answer('/sign-out', () => Response.json({ success: true }))
    last().error(lost())
    await settle()
    await authClient.signOut()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(seen).toEqual(['connecting: lost', 'completed'])
    expect(sent).toHaveLength(1)
  })
})

describe('a subscription whose JWT is rejected', () => {
  test("continues with a new one if it had started, as when the old one's key was removed", async () => {
    const { sent, server, seen, last } = await open()
    last().next(started)
    last().next(event(1))
    last().error(tokenRejected(false))
    await settle()
    expect(server.count(TOKEN)).toBe(2)
    expect(sent.map(({ op }) => op.input)).toEqual([undefined, { lastEventId: '1' }])
    expect(seen).toEqual(['1'])
  })

  test('fails if its resolver hit another guard', async () => {
    const { sent, server, seen, last } = await open()
    last().next(state('pending'))
    last().error(tokenRejected(false))
    await settle()
    expect(server.count(TOKEN)).toBe(2)
    expect(sent).toHaveLength(1)
    expect(seen).toEqual(['pending', 'failed: 401'])
  })

  test('fails if the new one is rejected at once', async () => {
    const { sent, seen, last } = await open()
    last().error(tokenRejected(true))
    await settle()
    last().error(tokenRejected(true))
    await settle()
    expect(sent).toHaveLength(2)
    expect(seen).toEqual(['failed: 401'])
  })

  test('continues once more if it had lasted', async () => {
    const { sent, seen, last } = await open()
    last().error(tokenRejected(true))
    await settle()
    await vi.advanceTimersByTimeAsync(30_001)
    last().error(tokenRejected(true))
    await settle()
    expect(sent).toHaveLength(3)
    expect(seen).toEqual([])
  })

  test('shows that the server cannot validate its session, and continues when it can', async () => {
    const { sent, server, seen, last } = await open()
    server.answer(TOKEN, () => rejection(503, 'SESSIONS_UNAVAILABLE'))
    last().error(tokenRejected(true))
    await settle()
    expect(seen).toEqual(['connecting: SESSIONS_UNAVAILABLE'])
    server.answer(TOKEN, () => tokens())
    await vi.advanceTimersByTimeAsync(1_000)
    expect(sent).toHaveLength(2)
    last().next(started)
    expect(seen).toEqual(['connecting: SESSIONS_UNAVAILABLE', 'pending'])
  })
})

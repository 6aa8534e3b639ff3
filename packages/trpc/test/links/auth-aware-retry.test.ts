import { REASONS, type Reason } from '@sallyport/core/internal/protocol'
import { AuthClientError, authAwareRetry } from '@sallyport/trpc/client'
import { isServer, QueryClient } from '@tanstack/react-query'
import { TRPCClientError } from '@trpc/client'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'

beforeEach(() => {
  vi.stubGlobal('window', globalThis)
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** Returns the tRPC client's error for a response of the server. */
function answered(
  httpStatus: number,
  auth: { reason: Reason; retryAfterSeconds?: number } | null = null,
): Error {
  const data = { httpStatus, auth: auth && { retryAfterSeconds: null, replay: false, ...auth } }
  return TRPCClientError.from({ error: { code: -32000, message: String(httpStatus), data } })
}
const rejected = (reason: Reason) => answered(REASONS[reason].status, { reason })
/** Returns the tRPC client's error for a response that isn't tRPC's. */
const page = (status: number) =>
  TRPCClientError.from(new SyntaxError('Unexpected token <'), { meta: { response: { status } } })
const ofAuthClient = (status: number, code: string, retryAfterSeconds?: number) =>
  new AuthClientError(status, { code, message: code, ...(retryAfterSeconds && { retryAfterSeconds }) })

/** Counts how often an error is retried. */
function retriesOf(error: unknown): number {
  let count = 0
  while (authAwareRetry.retry(count, error)) count++
  return count
}

const OUTAGES: readonly Reason[] = ['RATE_LIMITED', 'SESSIONS_UNAVAILABLE', 'KEYS_UNAVAILABLE']
const REFUSALS = (Object.keys(REASONS) as Reason[]).filter((reason) => !OUTAGES.includes(reason))

describe('a query', () => {
  test.each(REFUSALS)('that was rejected with %s is not retried', (reason) => {
    expect(retriesOf(rejected(reason))).toBe(0)
    expect(retriesOf(ofAuthClient(REASONS[reason].status, reason))).toBe(0)
  })

  test.each(OUTAGES)('that got a %s is retried six times', (reason) => {
    expect(retriesOf(rejected(reason))).toBe(6)
    expect(retriesOf(ofAuthClient(REASONS[reason].status, reason))).toBe(6)
  })

  test.each([
    { what: 'got no response', error: TRPCClientError.from(new TypeError('fetch failed')), retries: 6 },
    { what: 'got no response, of the auth client', error: ofAuthClient(0, 'UNREACHABLE'), retries: 6 },
    { what: 'got a 502 from a proxy', error: page(502), retries: 6 },
    { what: 'got a 504 from a proxy', error: page(504), retries: 6 },
    { what: 'got a 408', error: answered(408), retries: 6 },
    { what: 'got a 404 from a proxy', error: page(404), retries: 0 },
    { what: 'had an invalid input', error: answered(400), retries: 0 },
    { what: 'belongs to a previous user', error: answered(499), retries: 0 },
    {
      what: 'belongs to a previous user, of the auth client',
      error: ofAuthClient(499, 'USER_CHANGED'),
      retries: 0,
    },
    { what: 'would have caused another refresh', error: ofAuthClient(401, 'REFRESH_LOOP'), retries: 0 },
    { what: 'hit a bug of the server', error: answered(500), retries: 3 },
    { what: 'hit a bug of the page', error: new TypeError('undefined is not a function'), retries: 3 },
    { what: 'failed without an error', error: undefined, retries: 3 },
    { what: 'failed with null', error: null, retries: 3 },
  ])('that $what is retried $retries times', ({ error, retries }) => {
    expect(retriesOf(error)).toBe(retries)
  })

  test('that must wait for more than half a minute is not retried', () => {
    expect(retriesOf(answered(429, { reason: 'RATE_LIMITED', retryAfterSeconds: 30 }))).toBe(6)
    expect(retriesOf(answered(429, { reason: 'RATE_LIMITED', retryAfterSeconds: 31 }))).toBe(0)
    expect(retriesOf(ofAuthClient(429, 'RATE_LIMITED', 31))).toBe(0)
  })
})

describe('the delay', () => {
  test.each([
    { chance: 'lowest', value: 0, pauses: [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000] },
    { chance: 'highest', value: 1, pauses: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] },
  ])('grows up to 30 seconds with the $chance random value', ({ value, pauses }) => {
    vi.spyOn(Math, 'random').mockReturnValue(value)
    const error = rejected('SESSIONS_UNAVAILABLE')
    expect(pauses.map((_, failures) => authAwareRetry.retryDelay(failures, error))).toEqual(pauses)
  })

  test('is also known without an error', () => {
    expect(authAwareRetry.retryDelay(0, undefined)).toBeGreaterThan(0)
    expect(authAwareRetry.retryDelay(0, null)).toBeGreaterThan(0)
  })

  test.each([
    { of: 'a procedure', error: answered(503, { reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: 7 }) },
    { of: 'an auth endpoint', error: ofAuthClient(503, 'SESSIONS_UNAVAILABLE', 7) },
  ])('is as long as the response of $of requests', ({ error }) => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    expect(authAwareRetry.retryDelay(0, error)).toBe(7_000)
  })
})

test('on a server, nothing is retried, as with the default of TanStack Query', () => {
  vi.stubGlobal('window', undefined)
  expect(isServer).toBe(true)
  expect(retriesOf(rejected('SESSIONS_UNAVAILABLE'))).toBe(0)
  expect(retriesOf(answered(500))).toBe(0)
})

test('TanStack Query uses both functions', async () => {
  const queryClient = new QueryClient({
    defaultOptions: { queries: { ...authAwareRetry } },
  })
  onTestFinished(() => queryClient.clear())
  const lose = vi.fn(() => Promise.reject(rejected('SESSIONS_UNAVAILABLE')))
  const reject = vi.fn(() => Promise.reject(rejected('ROLE_REQUIRED')))
  const failures = [
    queryClient.fetchQuery({ queryKey: ['lost'], queryFn: lose }),
    queryClient.fetchQuery({ queryKey: ['rejected'], queryFn: reject }),
  ].map((call) => call.catch(() => {}))
  await vi.advanceTimersByTimeAsync(120_000)
  await Promise.all(failures)
  expect(lose).toHaveBeenCalledTimes(7)
  expect(reject).toHaveBeenCalledTimes(1)
})

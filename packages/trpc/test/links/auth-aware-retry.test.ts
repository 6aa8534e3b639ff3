import { REASONS, type Reason } from '@sallyport/core/internal/protocol'
import { AuthClientError, authAwareRetry } from '@sallyport/trpc/client'
import { QueryClient } from '@tanstack/react-query'
import { TRPCClientError } from '@trpc/client'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** An error of tRPC's client for an answer of the server. */
function answered(
  httpStatus: number,
  auth: { reason: Reason; retryAfterSeconds?: number } | null = null,
): Error {
  const data = { httpStatus, auth: auth && { retryAfterSeconds: null, replay: false, ...auth } }
  return TRPCClientError.from({ error: { code: -32000, message: String(httpStatus), data } })
}
const rejected = (reason: Reason) => answered(REASONS[reason].status, { reason })
/** An error of tRPC's client for an answer that was none of tRPC's. */
const page = (status: number) =>
  TRPCClientError.from(new SyntaxError('Unexpected token <'), { meta: { response: { status } } })
const ofAuthClient = (status: number, code: string, retryAfterSeconds?: number) =>
  new AuthClientError(status, { code, message: code, ...(retryAfterSeconds && { retryAfterSeconds }) })

/** How often an error is tried again in a row. */
function retriesOf(error: unknown): number {
  let count = 0
  while (authAwareRetry.retry(count, error)) count++
  return count
}

const OUTAGES: readonly Reason[] = ['RATE_LIMITED', 'SESSIONS_UNAVAILABLE', 'KEYS_UNAVAILABLE']
const REFUSALS = (Object.keys(REASONS) as Reason[]).filter((reason) => !OUTAGES.includes(reason))

describe('a query', () => {
  test.each(REFUSALS)('that was rejected with %s is not tried again', (reason) => {
    expect(retriesOf(rejected(reason))).toBe(0)
    expect(retriesOf(ofAuthClient(REASONS[reason].status, reason))).toBe(0)
  })

  test.each(OUTAGES)('that was answered %s is tried again six times', (reason) => {
    expect(retriesOf(rejected(reason))).toBe(6)
    expect(retriesOf(ofAuthClient(REASONS[reason].status, reason))).toBe(6)
  })

  test.each([
    { what: 'was not answered', error: TRPCClientError.from(new TypeError('fetch failed')), retries: 6 },
    { what: 'was not answered, of the auth client', error: ofAuthClient(0, 'UNREACHABLE'), retries: 6 },
    { what: 'was answered by a proxy with 502', error: page(502), retries: 6 },
    { what: 'was answered by a proxy with 504', error: page(504), retries: 6 },
    { what: 'was answered 408', error: answered(408), retries: 6 },
    { what: 'was answered by a proxy with 404', error: page(404), retries: 0 },
    { what: 'had a bad input', error: answered(400), retries: 0 },
    { what: 'belongs to a user who is gone', error: answered(499), retries: 0 },
    {
      what: 'belongs to a user who is gone, of the auth client',
      error: ofAuthClient(499, 'USER_CHANGED'),
      retries: 0,
    },
    { what: 'would have caused another refresh', error: ofAuthClient(401, 'REFRESH_LOOP'), retries: 0 },
    { what: 'ran into a bug of the server', error: answered(500), retries: 3 },
    { what: 'ran into a bug of the page', error: new TypeError('undefined is not a function'), retries: 3 },
  ])('that $what is tried again $retries times', ({ error, retries }) => {
    expect(retriesOf(error)).toBe(retries)
  })

  test('that should wait for more than half a minute is not tried again', () => {
    expect(retriesOf(answered(429, { reason: 'RATE_LIMITED', retryAfterSeconds: 30 }))).toBe(6)
    expect(retriesOf(answered(429, { reason: 'RATE_LIMITED', retryAfterSeconds: 31 }))).toBe(0)
    expect(retriesOf(ofAuthClient(429, 'RATE_LIMITED', 31))).toBe(0)
  })
})

describe('the pause', () => {
  test.each([
    { chance: 'lowest', value: 0, pauses: [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000] },
    { chance: 'highest', value: 1, pauses: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] },
  ])('becomes longer, up to 30 seconds, with the $chance chance', ({ value, pauses }) => {
    vi.spyOn(Math, 'random').mockReturnValue(value)
    const error = rejected('SESSIONS_UNAVAILABLE')
    expect(pauses.map((_, failures) => authAwareRetry.retryDelay(failures, error))).toEqual(pauses)
  })

  test.each([
    { of: 'a procedure', error: answered(503, { reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: 7 }) },
    { of: 'an auth endpoint', error: ofAuthClient(503, 'SESSIONS_UNAVAILABLE', 7) },
  ])('is as long as the answer of $of asks for', ({ error }) => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    expect(authAwareRetry.retryDelay(0, error)).toBe(7_000)
  })
})

test('TanStack Query asks them', async () => {
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

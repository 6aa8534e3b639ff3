import { backOff } from '../client/back-off.ts'

/** How often a query is tried again that was not answered, or that nobody could decide: that is more than half a minute. */
const MOST_OUTAGES = 6

/** How often a query is tried again that failed in another way, as TanStack Query does by itself. */
const MOST_FAILURES = 3

/** The longest time that a query waits because it was told to, in seconds. */
const LONGEST_WAIT_SECONDS = 30

/** Answers that come from an outage or a rate limit; 0 where nobody answered. */
const OUTAGES: readonly number[] = [0, 408, 429, 502, 503, 504]

/** What is read of an error of tRPC's client or of the auth client, whichever copy of them it comes from. */
interface FailedCall {
  readonly name?: string
  readonly status?: number
  readonly retryAfterSeconds?: number | null
  readonly data?: {
    readonly httpStatus?: number
    readonly auth?: { readonly retryAfterSeconds?: number | null } | null
  } | null
  /** Of an answer that was none of tRPC's. */
  readonly meta?: { readonly response?: { readonly status?: number } }
}

/**
 * For `retry` of TanStack Query: whether another attempt of a query may help. A refusal is an answer, to be shown; an outage, a server out
 * of reach and a rate limit pass. Not for mutations: one whose answer was lost may have been carried out.
 *
 * @param failureCount how often it had failed before
 * @example
 * new QueryClient({ defaultOptions: { queries: { retry: authAwareRetry, retryDelay: authAwareRetryDelay } } })
 */
export function authAwareRetry(failureCount: number, error: unknown): boolean {
  const status = statusOf(error as FailedCall)
  const isOutage = OUTAGES.includes(status)
  if (!isOutage && status >= 400 && status < 500) return false
  if (waitOf(error as FailedCall) > LONGEST_WAIT_SECONDS) return false
  return failureCount < (isOutage ? MOST_OUTAGES : MOST_FAILURES)
}

/** For `retryDelay` of TanStack Query, in milliseconds: at most 1 s at first, then longer up to 30 s, and no less than the server asks for. */
export function authAwareRetryDelay(failureCount: number, error: unknown): number {
  return backOff(failureCount + 1, waitOf(error as FailedCall))
}

/** Of what is no call it is 500. */
function statusOf({ name, status, data, meta }: FailedCall): number {
  return data?.httpStatus ?? meta?.response?.status ?? status ?? (name === 'TRPCClientError' ? 0 : 500)
}

function waitOf({ retryAfterSeconds, data }: FailedCall): number {
  return data?.auth?.retryAfterSeconds ?? retryAfterSeconds ?? 0
}

import { backOff } from '../client/back-off.ts'

/** Retries of a query during an outage or a rate limit: more than half a minute. */
const MAX_OUTAGE_RETRIES = 6

/** Retries of a query that failed in another way: the default of TanStack Query. */
const MAX_RETRIES = 3

/** The longest wait that a query accepts from the server. */
const MAX_WAIT_SECONDS = 30

/** Statuses of an outage or a rate limit; 0 without a response. */
const OUTAGES: readonly number[] = [0, 408, 429, 502, 503, 504]

/** An error of tRPC's client or of the auth client. Several copies of them may be installed. */
interface FailedCall {
  readonly name?: string
  readonly status?: number
  readonly retryAfterSeconds?: number | null
  readonly data?: {
    readonly httpStatus?: number
    readonly auth?: { readonly retryAfterSeconds?: number | null } | null
  } | null
  /** Of a response that isn't from tRPC. */
  readonly meta?: { readonly response?: { readonly status?: number } }
}

/**
 * The options `retry` and `retryDelay` of TanStack Query. A query is retried after an outage, a lost connection, or a
 * rate limit, and never after a rejection. The delay is 0.5 to 30 s, and at least as long as the server asks for.
 * Don't use it for mutations: one whose response was lost may have run.
 *
 * @example
 * new QueryClient({ defaultOptions: { queries: { ...authAwareRetry } } })
 */
export const authAwareRetry: {
  readonly retry: (failureCount: number, error: unknown) => boolean
  readonly retryDelay: (failureCount: number, error: unknown) => number
} = { retry, retryDelay }

function retry(failureCount: number, error: unknown): boolean {
  const status = statusOf(error as FailedCall)
  const isOutage = OUTAGES.includes(status)
  if (!isOutage && status >= 400 && status < 500) return false
  if (waitOf(error as FailedCall) > MAX_WAIT_SECONDS) return false
  return failureCount < (isOutage ? MAX_OUTAGE_RETRIES : MAX_RETRIES)
}

function retryDelay(failureCount: number, error: unknown): number {
  return backOff(failureCount + 1, waitOf(error as FailedCall))
}

function statusOf({ name, status, data, meta }: FailedCall): number {
  return data?.httpStatus ?? meta?.response?.status ?? status ?? (name === 'TRPCClientError' ? 0 : 500)
}

function waitOf({ retryAfterSeconds, data }: FailedCall): number {
  return data?.auth?.retryAfterSeconds ?? retryAfterSeconds ?? 0
}

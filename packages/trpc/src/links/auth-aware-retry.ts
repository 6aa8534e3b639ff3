import { isRejection } from '../client/auth-client-error.ts'
import { backOff } from '../client/back-off.ts'
import { isOnServer } from '../client/on-server.ts'

/** More than half a minute. */
const MAX_OUTAGE_RETRIES = 6
/** The default of TanStack Query. */
const MAX_RETRIES = 3
const MAX_WAIT_SECONDS = 30

/** An error of tRPC's client or of the auth client. Several copies of them may be installed. */
interface FailedCall {
  readonly name?: string
  readonly status?: number
  readonly retryAfterSeconds?: number | null
  readonly data?: { httpStatus?: number; auth?: { retryAfterSeconds?: number | null } | null } | null
  /** Of a response that isn't from tRPC. */
  readonly meta?: { readonly response?: { readonly status?: number } }
}

/**
 * Retries queries of TanStack Query after an outage, a lost connection, or a rate limit, and never after a
 * rejection or on a server. Don't use it for mutations: one whose response was lost may have run.
 *
 * @example new QueryClient({ defaultOptions: { queries: { ...authAwareRetry } } })
 */
export const authAwareRetry: {
  readonly retry: (failureCount: number, error: unknown) => boolean
  readonly retryDelay: (failureCount: number, error: unknown) => number
} = {
  retry(failureCount, error) {
    const failed: FailedCall = Object(error)
    const ownStatus = failed.status ?? (failed.name === 'TRPCClientError' ? 0 : 500)
    const status = failed.data?.httpStatus ?? failed.meta?.response?.status ?? ownStatus
    if (isOnServer() || isRejection({ status }) || waitOf(error) > MAX_WAIT_SECONDS) return false
    // Without a response, 408, 429, or from a gateway.
    const isOutage = status < 500 || status > 501
    return failureCount < (isOutage ? MAX_OUTAGE_RETRIES : MAX_RETRIES)
  },
  retryDelay: (failureCount, error) => backOff(failureCount + 1, waitOf(error)),
}

function waitOf(error: unknown): number {
  const failed = error as FailedCall | null | undefined
  return failed?.data?.auth?.retryAfterSeconds ?? failed?.retryAfterSeconds ?? 0
}

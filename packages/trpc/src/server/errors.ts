import { AuthError, isAuthError, REASONS, type Reason } from '@sallyport/core'
import { TRPCError } from '@trpc/server'

/** What {@link authErrorData} adds to an error: why we refused, and what the client may do about it. */
export interface AuthErrorData {
  readonly reason: Reason
  /** Seconds to wait before another attempt; null where waiting does not help. */
  readonly retryAfterSeconds: number | null
  /** True only when a guard refused before the resolver ran: the call has changed nothing and may be sent again. */
  readonly replay: boolean
}

/** Refused by a guard, before any resolver. */
const refusedBeforeResolver = new WeakSet<Error>()

/**
 * A refusal as tRPC sends it, with the code of its reason. What is no {@link AuthError} came from code that should have decided
 * and did not, so it is `SESSIONS_UNAVAILABLE`.
 */
export function toTRPCError(error: unknown, { replay }: { replay: boolean }): TRPCError {
  const cause = isAuthError(error) ? error : new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
  const { code, message } = REASONS[cause.reason]
  const trpcError = new TRPCError({ code, message, cause })
  if (replay) refusedBeforeResolver.add(trpcError)
  return trpcError
}

/**
 * The reason of a refusal for the app's error formatter, or null when the error is none of ours.
 *
 * @example
 * initTRPC.context<Context>().create({
 *   errorFormatter: ({ shape, error }) => ({ ...shape, data: { ...shape.data, auth: authErrorData(error) } }),
 * })
 */
export function authErrorData(error: TRPCError): AuthErrorData | null {
  if (!isAuthError(error.cause)) return null
  const { reason, retryAfterSeconds } = error.cause
  return { reason, retryAfterSeconds, replay: refusedBeforeResolver.has(error) }
}

/**
 * The response meta of an HTTP handler: `Retry-After` where the status itself is 429 or 503. A stream is always 200 and a mixed
 * batch 207; there the seconds are in `error.data.auth`.
 *
 * @example fetchRequestHandler({ router, createContext, responseMeta: authResponseMeta, ... })
 */
export function authResponseMeta({
  data,
  errors,
}: {
  data: readonly unknown[]
  errors: readonly TRPCError[]
}): { headers?: Headers } {
  const isMixed = errors.length < data.length || errors.some(({ code }) => code !== errors[0]?.code)
  const seconds = errors.map((error) => authErrorData(error)?.retryAfterSeconds ?? 0)
  const longest = isMixed ? 0 : Math.max(0, ...seconds)
  return longest > 0 ? { headers: new Headers({ 'retry-after': String(longest) }) } : {}
}

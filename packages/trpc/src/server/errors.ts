import { AuthError, isAuthError, isConfigurationError, isEndpointError, REASONS } from '@sallyport/core'
import type { AuthErrorData, EndpointErrorData } from '@sallyport/core/protocol'
import { TRPCError } from '@trpc/server'
import { type AuthHandle, authRequest } from './auth-handle.ts'

/** Errors of {@link toTRPCError}. If a guard threw one, with the path of the procedure whose resolver didn't run. */
const guardedPaths = new WeakMap<Error, string | null>()

/**
 * Converts an error to one that tRPC sends, with the code of its reason. A configuration error keeps its message. Any
 * other error came from code that failed to decide, so it becomes `SESSIONS_UNAVAILABLE`.
 *
 * @param guarded the path of the procedure, if its guard throws the error before the resolver runs
 */
export function toTRPCError(error: unknown, guarded?: { path: string }): TRPCError {
  const isOwn = error instanceof TRPCError && guardedPaths.has(error)
  const trpcError = isOwn ? error : createTRPCError(error)
  if (!isOwn || guarded !== undefined) guardedPaths.set(trpcError, guarded?.path ?? null)
  return trpcError
}

function createTRPCError(error: unknown): TRPCError {
  if (isConfigurationError(error)) {
    return new TRPCError({ code: 'INTERNAL_SERVER_ERROR', message: error.message, cause: error })
  }
  const cause = isAuthError(error) ? error : new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
  const { code, message } = REASONS[cause.reason]
  return new TRPCError({ code, message, cause })
}

/**
 * Returns the reason of a rejection for the app's error formatter; null for any other error.
 *
 * @param options the formatter's argument. `replay` is true only if the guard of this very path rejected the call. It
 * can't tell if a public procedure calls a guarded one of the same path.
 * @example
 * initTRPC.context<Context>().create({
 *   errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
 * })
 */
export function authErrorData(options: { error: TRPCError; path: string | undefined }): AuthErrorData | null {
  const { error, path } = options
  if (!isAuthError(error.cause)) return null
  const { reason, retryAfterSeconds } = error.cause
  return { reason, retryAfterSeconds, replay: path !== undefined && guardedPaths.get(error) === path }
}

/**
 * Returns the error of an auth endpoint that a resolver called, for the app's error formatter; null for any other
 * error, also one of {@link authErrorData}.
 *
 * @example
 * initTRPC.context<Context>().create({
 *   errorFormatter: (o) => ({
 *     ...o.shape,
 *     data: { ...o.shape.data, auth: authErrorData(o), endpoint: endpointErrorData(o) },
 *   }),
 * })
 */
export function endpointErrorData({ error }: { error: TRPCError }): EndpointErrorData | null {
  if (!isEndpointError(error.cause)) return null
  const { code, fields } = error.cause
  return { code, fields }
}

/**
 * Returns the response meta of an HTTP handler: `Cache-Control: no-store` if the response may be meant for one caller,
 * and `Retry-After` if the status is 429 or 503. A stream is always 200 and a mixed batch 207; their seconds are only
 * in `error.data.auth`.
 *
 * @example fetchRequestHandler({ endpoint: '/trpc', req, router, createContext, responseMeta: authResponseMeta })
 */
export function authResponseMeta({ ctx, data, errors, eagerGeneration }: ResponseMetaOptions): {
  headers?: Headers
} {
  const headers = new Headers()
  // The head of a stream is sent before any guard runs.
  const isPublic =
    ctx !== undefined && !ctx.auth[authRequest].wasChecked() && errors.length === 0 && !eagerGeneration
  if (!isPublic) headers.set('cache-control', 'no-store')
  // A response can contain text from users. A browser must not treat it as a page or a script.
  headers.set('x-content-type-options', 'nosniff')
  const isMixed = errors.length < data.length || errors.some(({ code }) => code !== errors[0]?.code)
  const seconds = errors.map(({ cause }) => (isAuthError(cause) ? (cause.retryAfterSeconds ?? 0) : 0))
  const longest = isMixed ? 0 : Math.max(0, ...seconds)
  if (longest > 0) headers.set('retry-after', String(longest))
  return { headers }
}

/** The part of tRPC's argument to a response meta that is used. */
interface ResponseMetaOptions {
  /** Absent if `createContext` failed. */
  readonly ctx?: { readonly auth: AuthHandle } | undefined
  readonly data: readonly unknown[]
  readonly errors: readonly TRPCError[]
  readonly eagerGeneration?: boolean
}

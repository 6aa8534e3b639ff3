import type { AuthConfig, FailureStep } from '@sallyport/core'
import { AuthError, isAuthError, isEndpointError, REASONS } from '@sallyport/core'
import type { AuthErrorData, EndpointErrorData } from '@sallyport/core/internal/protocol'
import { isConfigurationError, reportFailure, wasReported } from '@sallyport/core/internal/server'
import { TRPCError, type TRPCMiddlewareFunction } from '@trpc/server'
import { type AuthHandle, authRequest } from './auth-handle.ts'

/**
 * A member of the errors of {@link toTRPCError}, also those of another copy of this package: the path of the
 * procedure whose guard threw it, or null.
 */
const guardedPath = Symbol.for('sallyport.guardedPath')

/**
 * Converts an error to one that tRPC sends. An unknown error decides nothing: `SESSIONS_UNAVAILABLE`. The
 * path of `guarded` means that the guard of that procedure throws the error before the resolver runs.
 */
export function toTRPCError(error: unknown, guarded?: { path: string }): TRPCError {
  const isOwn = error instanceof TRPCError && guardedPath in error
  const trpcError = isOwn ? error : createTRPCError(error)
  if (!isOwn || guarded !== undefined)
    Object.defineProperty(trpcError, guardedPath, { value: guarded?.path ?? null, configurable: true })
  return trpcError
}

function createTRPCError(error: unknown): TRPCError {
  if (isConfigurationError(error))
    return new TRPCError({ code: 'INTERNAL_SERVER_ERROR', message: 'Something went wrong', cause: error })
  const cause = isAuthError(error) ? error : new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
  const { code, message } = REASONS[cause.reason]
  return new TRPCError({ code, message, cause })
}

const reported = new WeakSet<Error>()

/** Reports the failure of a call to `onFailure`, once, although it passes several guards. */
export function reportError(
  error: TRPCError,
  { path = null, ...step }: { path?: string | null | undefined; step: FailureStep },
  config: AuthConfig,
): TRPCError {
  if (!reported.has(error) && !wasReported(error.cause))
    reportFailure(error.cause ?? error, { path, ...step }, config)
  reported.add(error)
  return error
}

/**
 * Returns the reason of a rejection for the app's error formatter; null for any other error. Without it, the
 * client can't refresh an expired JWT. `replay` is true only if the guard of this path rejected the call.
 *
 * @example
 * initTRPC.context<Context>().create({
 *   errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
 * })
 */
export function authErrorData(options: { error: TRPCError; path: string | undefined }): AuthErrorData | null {
  const { error, path } = options
  if (!isAuthError(error.cause)) return null
  const { reason, retryAfterSeconds, required } = error.cause
  const replay = path !== undefined && Reflect.get(error, guardedPath) === path
  return { reason, retryAfterSeconds, replay, ...(required !== undefined && { required }) }
}

/**
 * Returns the code and invalid fields of an endpoint's error for the app's error formatter; null for others.
 *
 * @example data: { ...o.shape.data, auth: authErrorData(o), endpoint: endpointErrorData(o) }
 */
export function endpointErrorData({ error }: { error: TRPCError }): EndpointErrorData | null {
  if (!isEndpointError(error.cause)) return null
  const { code, fields } = error.cause
  return { code, fields }
}

const ENDPOINT_CODES: Readonly<Record<number, TRPCError['code']>> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  409: 'CONFLICT',
  412: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'UNPROCESSABLE_CONTENT',
  429: 'TOO_MANY_REQUESTS',
  501: 'NOT_IMPLEMENTED',
  503: 'SERVICE_UNAVAILABLE',
}

/**
 * Keeps the status, message, and code of errors of `auth.api` and `createSession`, which tRPC turns into 500.
 *
 * @example
 * const rename = protectedProcedure
 *   .use(authErrorMiddleware)
 *   .input(z.object({ name: z.string() }))
 *   .mutation(({ ctx, input }) => getAuth(ctx).api.updateUser(input))
 */
export const authErrorMiddleware: TRPCMiddlewareFunction<object, object, object, object, unknown> = async ({
  ctx,
  path,
  next,
}) => {
  const result = await next()
  if (result.ok) return result
  const { cause, code } = result.error
  // An error of a guard already has its code, and whether the call may be replayed.
  if (isAuthError(cause) && code === 'INTERNAL_SERVER_ERROR') {
    const error = toTRPCError(cause)
    // Without `createContext`, the context may be undefined.
    const { auth }: { auth?: AuthHandle | null } = Object(ctx)
    const request = auth?.[authRequest]
    if (request !== undefined) reportError(error, { path, step: 'procedure' }, request.config)
    return { ...result, error }
  }
  return isEndpointError(cause) ? { ...result, error: withStatus(cause.status, cause) } : result
}

export function withStatus(status: number, cause: Error): TRPCError {
  return new TRPCError({
    code: ENDPOINT_CODES[status] ?? 'INTERNAL_SERVER_ERROR',
    message: cause.message,
    cause,
  })
}

/**
 * Returns the response meta of an HTTP handler: `Cache-Control: no-store` unless the response is the same for
 * every caller, `X-Content-Type-Options: nosniff`, and `Retry-After` for 429 and 503. Streams and mixed
 * batches have no `Retry-After`; read `error.data.auth` instead. Also adds the cookies of `betterAuthGuard`.
 *
 * @example
 * fetchRequestHandler({ endpoint: '/trpc', req, router, createContext, responseMeta: authResponseMeta })
 */
export function authResponseMeta({ ctx, data, errors, eagerGeneration }: ResponseMetaOptions): {
  headers?: Headers
} {
  const headers = new Headers()
  // An app that has no guards may have another context.
  const call = ctx?.auth?.[authRequest]
  // The head of a stream is sent before any guard runs.
  const isPublic = call !== undefined && !call.wasChecked() && errors.length === 0 && !eagerGeneration
  if (!isPublic) headers.set('cache-control', 'no-store')
  // A response can contain text from users. A browser must not treat it as a page or a script.
  headers.set('x-content-type-options', 'nosniff')
  const isMixed = errors.length < data.length || errors.some(({ code }) => code !== errors[0]?.code)
  const seconds = errors.map(({ cause }) => (isAuthError(cause) ? (cause.retryAfterSeconds ?? 0) : 0))
  const longest = isMixed ? 0 : Math.max(0, ...seconds)
  if (longest > 0) headers.set('retry-after', String(longest))
  for (const [name, value] of call?.request.responseHeaders ?? []) headers.append(name, value)
  return { headers }
}

interface ResponseMetaOptions {
  /** Absent if `createContext` failed. */
  readonly ctx?: { readonly auth?: AuthHandle } | undefined
  readonly data: readonly unknown[]
  readonly errors: readonly TRPCError[]
  readonly eagerGeneration?: boolean
}

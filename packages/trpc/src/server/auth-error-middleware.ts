import { isAuthError, isEndpointError } from '@sallyport/core'
import { TRPCError } from '@trpc/server'
import { toTRPCError } from './errors.ts'
import type { Middleware } from './guard.ts'

const CODES: Readonly<Record<number, TRPCError['code']>> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
  429: 'TOO_MANY_REQUESTS',
  501: 'NOT_IMPLEMENTED',
}

/**
 * For procedures that call `auth.api` or `createSession`: their errors keep status and message, and
 * `endpointErrorData` returns the code. Without it, tRPC would respond with 500.
 *
 * @example t.procedure.use(authErrorMiddleware).mutation(({ ctx, input }) => auth.api.signInEmail({ ...input, request: ctx.request }))
 */
export const authErrorMiddleware: Middleware<object, object> = async ({ next }) => {
  const result = await next()
  if (result.ok) return result
  const { cause, code } = result.error
  // An error of a guard has its code already, and whether the call may be replayed.
  if (isAuthError(cause) && code === 'INTERNAL_SERVER_ERROR') return { ...result, error: toTRPCError(cause) }
  if (!isEndpointError(cause)) return result
  const { status, message } = cause
  const error = new TRPCError({ code: CODES[status] ?? 'INTERNAL_SERVER_ERROR', message, cause })
  return { ...result, error }
}

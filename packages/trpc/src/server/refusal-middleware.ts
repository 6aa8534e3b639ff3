import { type EndpointError, isAuthError, isEndpointError } from '@sallyport/core'
import { TRPCError } from '@trpc/server'
import { toTRPCError } from './errors.ts'
import type { Middleware } from './guard.ts'

/**
 * For procedures that call `auth.api` or `createSession`: what those refuse keeps its status and its text, and
 * `endpointErrorData` tells the client its code. tRPC would answer 500.
 *
 * @example t.procedure.use(refusalMiddleware).mutation(({ ctx, input }) => auth.api.signInEmail({ ...input, request: ctx.request }))
 */
export const refusalMiddleware: Middleware<object, object> = async ({ next }) => {
  const result = await next()
  if (result.ok) return result
  const { cause, code } = result.error
  // What a guard has refused says by itself whether the call may be sent again.
  if (isAuthError(cause) && code === 'INTERNAL_SERVER_ERROR') return { ...result, error: toTRPCError(cause) }
  if (isEndpointError(cause)) return { ...result, error: toEndpointTRPCError(cause) }
  return result
}

const CODES = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
  429: 'TOO_MANY_REQUESTS',
  501: 'NOT_IMPLEMENTED',
} as const

/** Converts an error of an endpoint to one that tRPC sends, with the code of its status. */
export function toEndpointTRPCError(cause: EndpointError): TRPCError {
  const found = Object.entries(CODES).find(([status]) => Number(status) === cause.status)
  return new TRPCError({ code: found?.[1] ?? 'INTERNAL_SERVER_ERROR', message: cause.message, cause })
}

import { ConfigurationError, isAuthError, isConfigurationError, isEndpointError } from '@sallyport/core'
import {
  type AnyTRPCRouter,
  getTRPCErrorFromUnknown,
  getTRPCErrorShape,
  initTRPC,
  TRPCError,
  type TRPCRouterRecord,
} from '@trpc/server'
import { authErrorData, endpointErrorData, toEndpointTRPCError, toTRPCError } from '../../server/errors.ts'
import { CALL_REJECTIONS, isCallRejection } from '../call/call-rejection.ts'
import { ENVELOPE_ID } from '../call/envelope.ts'

const t = initTRPC.create({
  // Stack traces must not cross.
  isDev: false,
  errorFormatter(options) {
    const { cause } = options.error
    const { data } = options.shape
    return {
      ...options.shape,
      data: {
        ...data,
        httpStatus: isEndpointError(cause) ? cause.status : data.httpStatus,
        auth: authErrorData(options),
        endpoint: endpointErrorData(options),
        configuration: isConfigurationError(cause) ? { code: cause.code } : null,
        rejection: isCallRejection(cause) ? cause.code : null,
      },
    }
  },
})

/**
 * Creates the router of an app's internal functions and of ours, which are at `sallyport`.
 *
 * @throws ConfigurationError if the app's router has subscriptions, lazy routers, or a path that begins with `sallyport`
 */
export function createInternalRouter(router: AnyTRPCRouter, sallyport: TRPCRouterRecord): AnyTRPCRouter {
  const lazy = Object.keys(router._def.lazy)
  if (lazy.length > 0)
    throw new ConfigurationError(
      `internal functions: ${lazy.join(', ')} is loaded lazily. Import the router instead`,
    )
  const procedures = Object.entries<{ _def: { type: string } }>(router._def.procedures)
  for (const [path, { _def }] of procedures) {
    if (/^sallyport(\.|$)/.test(path))
      throw new ConfigurationError(`internal functions: ${path} has a reserved name. Rename it`)
    if (_def.type === 'subscription')
      throw new ConfigurationError(`internal functions: ${path} is a subscription. Use a query or a mutation`)
  }
  return t.router({ ...router._def.record, sallyport })
}

/** Returns tRPC's envelope of a result, as JSON text. */
export function encodeResult(data: unknown): string {
  return JSON.stringify({ id: ENVELOPE_ID, result: { data } })
}

/** Returns tRPC's envelope of an error, as JSON text; null if it wasn't thrown on purpose, because it may quote SQL or a secret. */
export function encodeError(error: unknown): string | null {
  const known = toKnownError(error)
  if (known === null) return null
  const call = { type: 'unknown', path: undefined, input: undefined, ctx: undefined } as const
  const shape = getTRPCErrorShape({ ...call, config: t._config, error: known })
  return JSON.stringify({ id: ENVELOPE_ID, error: shape })
}

function toKnownError(error: unknown): TRPCError | null {
  if (isCallRejection(error))
    return new TRPCError({ code: CALL_REJECTIONS[error.code], message: error.message, cause: error })
  const { code, message, cause } = getTRPCErrorFromUnknown(error)
  if (isAuthError(cause) || isConfigurationError(cause)) return toTRPCError(cause)
  if (isEndpointError(cause)) return toEndpointTRPCError(cause)
  const isWrapped = code === 'INTERNAL_SERVER_ERROR' && cause !== undefined && message === cause.message
  return isWrapped ? null : new TRPCError({ code, message })
}

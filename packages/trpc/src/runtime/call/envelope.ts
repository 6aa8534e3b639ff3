import { AuthError, ConfigurationError, type ConfigurationErrorCode, REASONS } from '@sallyport/core'
import { EndpointError } from '@sallyport/core/internal/server'
import { TRPCError } from '@trpc/server'
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc'
import { CALL_REJECTIONS, CallRejection } from './call-rejection.ts'

/** The `id` of our envelopes. Without it, the response of another tRPC server could sign a user out. */
export const ENVELOPE_ID = 'sallyport.internal'

/**
 * Returns the result in tRPC's envelope of a call.
 *
 * @param status the HTTP status, which must agree with the envelope
 * @throws AuthError, EndpointError, ConfigurationError, or TRPCError as it was thrown where the function ran
 * @throws CallRejection also if this isn't an envelope of ours, so it decides nothing
 */
export function takeResult(envelope: unknown, status?: number): unknown {
  if (isObject(envelope) && envelope.id === ENVELOPE_ID) {
    const { result, error } = envelope
    if (isObject(result) && error === undefined && (status ?? 200) === 200) return result.data
    const decoded = isObject(error) && result === undefined ? decodeError(error, status) : null
    if (decoded !== null) throw decoded
  }
  throw new CallRejection('UNDECIDED', { cause: new Error(`The internal listener responded with ${status}`) })
}

function decodeError({ message, data }: Members, status: number | undefined): Error | null {
  if (typeof message !== 'string' || !isObject(data) || typeof data.httpStatus !== 'number') return null
  if (status !== undefined && status !== data.httpStatus) return null
  const { code, httpStatus, auth, endpoint, configuration, rejection } = data
  if (rejection !== null) {
    const cause = new Error(`The internal listener responded with ${httpStatus}`)
    return isKeyOf(CALL_REJECTIONS, rejection) ? new CallRejection(rejection, { cause }) : null
  }
  if (auth !== null) return decodeAuthError(auth)
  if (endpoint !== null) return decodeEndpointError(endpoint, { status: httpStatus, message })
  if (configuration !== null) {
    if (!isObject(configuration)) return null
    return new ConfigurationError(
      message,
      isConfigurationCode(configuration.code) ? { code: configuration.code } : {},
    )
  }
  return isKeyOf(TRPC_ERROR_CODES_BY_KEY, code) ? new TRPCError({ code, message }) : null
}

function decodeAuthError(auth: unknown): AuthError | null {
  if (!isObject(auth) || !isKeyOf(REASONS, auth.reason)) return null
  const { reason, retryAfterSeconds } = auth
  if (retryAfterSeconds === null) return new AuthError(reason)
  return typeof retryAfterSeconds === 'number' ? new AuthError(reason, { retryAfterSeconds }) : null
}

function decodeEndpointError(
  endpoint: unknown,
  { status, message }: { status: number; message: string },
): EndpointError | null {
  if (!isObject(endpoint) || typeof endpoint.code !== 'string' || !Array.isArray(endpoint.fields)) return null
  const { code, fields } = endpoint
  const isValid = fields.every((field) => typeof field === 'string')
  return isValid ? new EndpointError({ code, status, message }, { fields }) : null
}

type Members = Readonly<Record<string, unknown>>

/** Parses JSON in strict UTF-8. Returns undefined if it isn't, which no JSON is. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch {
    return undefined
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null
}

function isConfigurationCode(code: unknown): code is ConfigurationErrorCode {
  return typeof code === 'string'
}

function isKeyOf<Table extends object>(table: Table, key: unknown): key is keyof Table & string {
  return typeof key === 'string' && Object.hasOwn(table, key)
}

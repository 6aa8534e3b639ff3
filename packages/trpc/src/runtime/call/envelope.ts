import {
  AuthError,
  ConfigurationError,
  type ConfigurationErrorCode,
  isAuthError,
  isEndpointError,
  REASONS,
} from '@sallyport/core'
import type { RequiredProof, SignInChallenge } from '@sallyport/core/internal/protocol'
import { EndpointError, isConfigurationError } from '@sallyport/core/internal/server'
import { getTRPCErrorFromUnknown, TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc'
import { authErrorData, endpointErrorData, toTRPCError, withStatus } from '../../server/errors.ts'
import { CALL_REJECTIONS, CallRejection, isCallRejection } from './call-rejection.ts'

/** The `id` of each envelope. Without it, the response of another tRPC server could sign a user out. */
const ENVELOPE_ID = 'sallyport.internal'

export function encodeResult(data: unknown): string {
  return JSON.stringify({ id: ENVELOPE_ID, result: { data } })
}

export function encodeError(error: TRPCError): string {
  const { code, message, cause } = error
  const data = {
    code,
    httpStatus: isEndpointError(cause) ? cause.status : getHTTPStatusCodeFromError(error),
    auth: authErrorData({ error, path: undefined }),
    ...(isAuthError(cause) && { challenge: cause.challenge }),
    endpoint: endpointErrorData({ error }),
    configuration: isConfigurationError(cause) ? { code: cause.code } : null,
    rejection: isCallRejection(cause) ? cause.code : null,
  }
  return JSON.stringify({ id: ENVELOPE_ID, error: { message, code: TRPC_ERROR_CODES_BY_KEY[code], data } })
}

/** Returns the error to send; null if it wasn't thrown on purpose, because it may quote SQL or a secret. */
export function toSafeError(error: unknown): TRPCError | null {
  const { code, message, cause } = getTRPCErrorFromUnknown(error)
  if (isAuthError(cause)) return toTRPCError(cause)
  // The caller is another server of the app.
  if (isConfigurationError(cause))
    return new TRPCError({ code: 'INTERNAL_SERVER_ERROR', message: cause.message, cause })
  if (isEndpointError(cause)) return withStatus(cause.status, cause)
  const isWrapped = code === 'INTERNAL_SERVER_ERROR' && cause !== undefined && message === cause.message
  return isWrapped ? null : new TRPCError({ code, message })
}

/** Returns the result in an envelope, or throws its error. The HTTP status must agree with the envelope. */
export function decodeResult(envelope: unknown, status?: number): unknown {
  if (isObject(envelope) && envelope.id === ENVELOPE_ID) {
    const { result, error } = envelope
    if (isObject(result) && error === undefined && (status ?? 200) === 200) return result.data
    const decoded = isObject(error) && result === undefined ? decodeError(error, status) : null
    if (decoded !== null) throw decoded
  }
  const cause = new Error(`The internal listener responded with ${status}, no envelope. Check url`)
  throw new CallRejection('UNDECIDED', { cause })
}

function decodeError({ message, data }: Members, status: number | undefined): Error | null {
  if (typeof message !== 'string' || !isObject(data) || typeof data.httpStatus !== 'number') return null
  const { code, httpStatus, auth, challenge, endpoint, configuration, rejection } = data
  if (status !== undefined && status !== httpStatus) return null
  if (rejection !== null) return isKeyOf(CALL_REJECTIONS, rejection) ? new CallRejection(rejection) : null
  if (auth !== null) return decodeAuthError(auth, challenge)
  if (endpoint !== null) return decodeEndpointError(endpoint, { status: httpStatus, message })
  if (configuration === null)
    return isKeyOf(TRPC_ERROR_CODES_BY_KEY, code) ? new TRPCError({ code, message }) : null
  if (!isObject(configuration)) return null
  return new ConfigurationError(message, isCode(configuration.code) ? { code: configuration.code } : {})
}

function decodeAuthError(auth: unknown, challenge: unknown): AuthError | null {
  if (!isObject(auth) || !isKeyOf(REASONS, auth.reason)) return null
  const { reason, retryAfterSeconds, required } = auth
  if (retryAfterSeconds !== null && typeof retryAfterSeconds !== 'number') return null
  return new AuthError(reason, {
    ...(retryAfterSeconds !== null && { retryAfterSeconds }),
    ...(isRequiredProof(required) && { required }),
    ...(isChallenge(challenge) && { challenge }),
  })
}

function isRequiredProof(value: unknown): value is RequiredProof {
  if (!isObject(value)) return false
  const { factor, maxAgeSeconds } = value
  const isFactor = factor === null || factor === 'passkey' || factor === 'totp' || factor === 'any-second'
  return isFactor && (maxAgeSeconds === null || typeof maxAgeSeconds === 'number')
}

function isChallenge(value: unknown): value is SignInChallenge {
  if (!isObject(value) || !Array.isArray(value.methods)) return false
  const { token, methods, expiresIn } = value
  const isValid = typeof token === 'string' && typeof expiresIn === 'number'
  return isValid && methods.every((method) => typeof method === 'string')
}

function decodeEndpointError(
  endpoint: unknown,
  shared: { status: number; message: string },
): EndpointError | null {
  if (!isObject(endpoint) || typeof endpoint.code !== 'string' || !Array.isArray(endpoint.fields)) return null
  const { code, fields } = endpoint
  const isValid = fields.every((field) => typeof field === 'string')
  return isValid ? new EndpointError({ code, ...shared }, { fields }) : null
}

/** Parses JSON in strict UTF-8. Returns undefined, which JSON can't contain, if it's invalid. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return undefined
  }
}

type Members = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null
}

function isCode(code: unknown): code is ConfigurationErrorCode {
  return typeof code === 'string'
}

function isKeyOf<Table extends object>(table: Table, key: unknown): key is keyof Table & string {
  return typeof key === 'string' && Object.hasOwn(table, key)
}

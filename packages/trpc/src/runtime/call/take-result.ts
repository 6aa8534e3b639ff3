import {
  AuthError,
  ConfigurationError,
  type ConfigurationErrorCode,
  EndpointError,
  isAuthError,
  isConfigurationError,
  isEndpointError,
  REASONS,
  type Reason,
} from '@sallyport/core'
import { TRPCError } from '@trpc/server'
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc'
import { isObject } from './is-object.ts'

/** What came of a function that was called, as it crosses. */
export type CallOutcome = { readonly sallyport: typeof OUTCOME } & (
  | { readonly ok: true; readonly result?: unknown }
  | { readonly ok: false; readonly error: CallError }
)

/** Marks an outcome: `{ "ok": true }` alone is what any health page answers. */
export const OUTCOME = 'outcome'

/** What a function was refused with, or failed with. */
export type CallError =
  | { readonly kind: 'auth'; readonly reason: Reason; readonly retryAfterSeconds: number | null }
  | {
      readonly kind: 'endpoint'
      readonly code: string
      readonly status: number
      readonly message: string
      readonly fields: readonly string[]
    }
  | {
      readonly kind: 'configuration'
      readonly code: ConfigurationErrorCode | null
      readonly message: string
    }
  | { readonly kind: 'function'; readonly code: FunctionErrorCode; readonly message: string }

type FunctionErrorCode = keyof typeof TRPC_ERROR_CODES_BY_KEY

/** An error as it crosses; null where nobody threw it on purpose: its text may quote SQL, a path or a secret. */
export function describeError(error: unknown): CallError | null {
  if (!isTRPCError(error)) return describeOwn(error)
  const { code, message, cause } = error
  const own = describeOwn(cause)
  if (own !== null) return own
  const isMadeOfAnother = code === 'INTERNAL_SERVER_ERROR' && cause !== undefined && message === cause.message
  return isMadeOfAnother ? null : { kind: 'function', code, message }
}

/** By its name: the app may have another copy of tRPC. */
export function isTRPCError(error: unknown): error is TRPCError {
  return error instanceof Error && error.name === 'TRPCError'
}

function describeOwn(error: unknown): CallError | null {
  if (isAuthError(error)) {
    const { reason, retryAfterSeconds } = error
    return { kind: 'auth', reason, retryAfterSeconds }
  }
  if (isEndpointError(error)) {
    const { code, status, message, fields } = error
    return { kind: 'endpoint', code, status, message, fields }
  }
  if (isConfigurationError(error)) {
    const { code, message } = error
    return { kind: 'configuration', code, message }
  }
  return null
}

/**
 * The result of an outcome.
 *
 * @throws AuthError, EndpointError, ConfigurationError or TRPCError as it was thrown where the function ran
 */
export function takeResult(outcome: CallOutcome): unknown {
  if (outcome.ok) return outcome.result
  throw toError(outcome.error)
}

function toError(error: CallError): Error {
  switch (error.kind) {
    case 'auth': {
      const { reason, retryAfterSeconds } = error
      return new AuthError(reason, retryAfterSeconds === null ? {} : { retryAfterSeconds })
    }
    case 'endpoint':
      return new EndpointError(error, { fields: error.fields })
    case 'configuration':
      return new ConfigurationError(error.message, error.code === null ? {} : { code: error.code })
    case 'function':
      return new TRPCError({ code: error.code, message: error.message })
  }
}

/** Whether parsed JSON is an outcome and nothing else: what is not plainly one decides nothing. */
export function isOutcome(json: unknown): json is CallOutcome {
  if (!isObject(json)) return false
  if (json.sallyport !== OUTCOME) return false
  return json.ok === true || (json.ok === false && isObject(json.error) && isCallError(json.error))
}

function isCallError(error: Readonly<Record<string, unknown>>): boolean {
  const { kind, code, message, reason, retryAfterSeconds, status, fields } = error
  switch (kind) {
    case 'auth':
      return isKeyOf(REASONS, reason) && (retryAfterSeconds === null || typeof retryAfterSeconds === 'number')
    case 'endpoint':
      return (
        typeof code === 'string' &&
        typeof status === 'number' &&
        typeof message === 'string' &&
        Array.isArray(fields) &&
        fields.every((field) => typeof field === 'string')
      )
    case 'configuration':
      return typeof message === 'string' && (code === null || typeof code === 'string')
    case 'function':
      return typeof message === 'string' && isKeyOf(TRPC_ERROR_CODES_BY_KEY, code)
    default:
      return false
  }
}

function isKeyOf(table: object, key: unknown): boolean {
  return typeof key === 'string' && Object.hasOwn(table, key)
}

import { AuthError, ConfigurationError } from '@sallyport/core'
import { TRPCError } from '@trpc/server'
import type { FunctionType } from '../runner/runner.ts'

/** Why a call was not executed, or why nobody can say whether it was; with the HTTP status of the internal listener. */
export const CALL_REFUSALS = {
  /** What was sent is no call. */
  CALL_INVALID: 400,
  TOKEN_MISSING: 401,
  TOKEN_INVALID: 401,
  TOKEN_EXPIRED: 401,
  /** The token was used before. */
  TOKEN_REPLAYED: 401,
  /** A browser sent it. */
  ORIGIN_REJECTED: 403,
  FUNCTION_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  /** The idempotency key was used for another call. */
  KEY_REUSED: 409,
  PAYLOAD_TOO_LARGE: 413,
  /** Whether it was executed, or may be, cannot be said now. */
  UNDECIDED: 503,
} as const

/** One member of {@link CALL_REFUSALS}. */
export type CallRefusalCode = keyof typeof CALL_REFUSALS

/** Whether a text is one of the codes. */
export function isCallRefusalCode(code: unknown): code is CallRefusalCode {
  return typeof code === 'string' && Object.hasOwn(CALL_REFUSALS, code)
}

const brand: unique symbol = Symbol.for('sallyport.CallRefusal') as never

/** A call that was not let through to its function, or whose outcome is not known. */
export class CallRefusal extends Error {
  override readonly name = 'CallRefusal'
  readonly code: CallRefusalCode

  constructor(code: CallRefusalCode, options: { cause?: unknown } = {}) {
    super(`An internal call was refused: ${code}`, options)
    Object.defineProperty(this, brand, { value: true })
    this.code = code
  }
}

/** Whether a value is a {@link CallRefusal}. */
export function isCallRefusal(value: unknown): value is CallRefusal {
  return typeof value === 'object' && value !== null && brand in value
}

/**
 * What whoever called is told of a refusal. That this service may not call is nothing that the user at its other end could do anything
 * about: to them it is 503, and never 401.
 */
export function toCallerError(refusal: CallRefusal, call: { type: FunctionType; path: string }): Error {
  switch (refusal.code) {
    case 'FUNCTION_NOT_FOUND':
      return new ConfigurationError(`There is no internal ${call.type} ${call.path}`, { cause: refusal })
    case 'KEY_REUSED':
      return new TRPCError({
        code: 'CONFLICT',
        message: 'The idempotency key was used for another call',
        cause: refusal,
      })
    case 'PAYLOAD_TOO_LARGE':
      return new TRPCError({
        code: 'PAYLOAD_TOO_LARGE',
        message: 'The input of the internal function is too large',
        cause: refusal,
      })
    default:
      return new AuthError('SESSIONS_UNAVAILABLE', { cause: refusal })
  }
}

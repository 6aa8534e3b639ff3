import { REASONS, type Reason, type RequiredProof, type SignInChallenge } from '../protocol.ts'

const brand = Symbol.for('sallyport.AuthError')
const configurationBrand = Symbol.for('sallyport.ConfigurationError')

/**
 * A rejection with one {@link Reason} and its fixed message, so no text of the request or of a library
 * reaches the caller. The underlying error is in `cause`.
 */
export class AuthError extends Error {
  override readonly name = 'AuthError'
  /** Clients decide by this, not by the status. */
  readonly reason: Reason
  /** Seconds to wait before another attempt; null if waiting doesn't help. */
  readonly retryAfterSeconds: number | null
  /** What satisfies the guard, with `SESSION_NOT_FRESH` and `FACTOR_REQUIRED` of a guard. */
  declare readonly required?: RequiredProof
  /** With `FACTOR_REQUIRED` of a sign-in. */
  declare readonly challenge?: SignInChallenge

  constructor(reason: Reason, options: AuthErrorOptions = {}) {
    super(REASONS[reason].message, options)
    Object.defineProperty(this, brand, { value: true })
    this.reason = reason
    this.retryAfterSeconds = options.retryAfterSeconds ?? (this.status >= 429 ? 1 : null)
    if (options.required !== undefined) this.required = options.required
    // Not enumerable, to keep its token out of logs.
    if (options.challenge !== undefined)
      Object.defineProperty(this, 'challenge', { value: options.challenge })
  }

  /** The HTTP status of the reason. */
  get status(): number {
    return REASONS[this.reason].status
  }
}

interface AuthErrorOptions {
  readonly cause?: unknown
  readonly retryAfterSeconds?: number
  readonly required?: RequiredProof
  readonly challenge?: SignInChallenge
}

/** Returns whether a value is an {@link AuthError}, even from another copy of this package. */
export function isAuthError(value: unknown): value is AuthError {
  return typeof value === 'object' && value !== null && brand in value
}

/** Returns whether an error means "unknown", not "no": the caller keeps its state. */
export function isUnavailable(error: unknown): boolean {
  return isAuthError(error) && error.status === 503
}

export type ConfigurationErrorCode =
  /** `getAuth` was called while the module of the auth definition was still loading. */
  | 'DEFINITION_MISSING'
  /** A context has neither a database nor a runner. */
  | 'CONTEXT_EMPTY'
  /** A context has both, so it isn't clear which to use. */
  | 'CONTEXT_UNCLEAR'
  /** A query tried to write. */
  | 'WRITE_IN_QUERY'

/** An app that can't work as it is set up. The message says what is wrong and what to do. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  /** Null for a setting, which the message names. */
  declare readonly code: ConfigurationErrorCode | null

  constructor(message: string, options: { code?: ConfigurationErrorCode; cause?: unknown } = {}) {
    super(message, options)
    // Not enumerable, so Node prints the message of an uncaught error without them.
    Object.defineProperties(this, {
      [configurationBrand]: { value: true },
      code: { value: options.code ?? null },
    })
  }
}

/** Returns whether a value is a {@link ConfigurationError}, even from another copy of this package. */
export function isConfigurationError(value: unknown): value is ConfigurationError {
  return typeof value === 'object' && value !== null && configurationBrand in value
}

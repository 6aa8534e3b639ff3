import { REASONS, type Reason } from '../protocol.ts'

const brand = Symbol.for('sallyport.AuthError')
const configurationBrand = Symbol.for('sallyport.ConfigurationError')

/** Seconds a client should wait after an answer that could not be decided. */
const DEFAULT_RETRY_AFTER_SECONDS = 1

/**
 * A refusal with one {@link Reason}. Its message is the reason's fixed text, so nothing of the request or of a library
 * reaches the caller; what happened underneath is kept in `cause`.
 */
export class AuthError extends Error {
  override readonly name = 'AuthError'
  /** What was refused; a client decides by this, not by the status. */
  readonly reason: Reason
  /** Seconds to wait before another attempt; null where waiting does not help. */
  readonly retryAfterSeconds: number | null

  constructor(reason: Reason, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(REASONS[reason].message, 'cause' in options ? { cause: options.cause } : undefined)
    Object.defineProperty(this, brand, { value: true })
    this.reason = reason
    this.retryAfterSeconds =
      options.retryAfterSeconds ?? (REASONS[reason].status >= 429 ? DEFAULT_RETRY_AFTER_SECONDS : null)
  }

  /** The HTTP status of the reason. */
  get status(): number {
    return REASONS[this.reason].status
  }
}

/** Whether a value is an {@link AuthError}, also one from another copy of this package. */
export function isAuthError(value: unknown): value is AuthError {
  return typeof value === 'object' && value !== null && brand in value
}

/** Whether the answer is unknown rather than no: the caller gets 503 and keeps its state (design decision 11). */
export function isUnavailable(error: unknown): boolean {
  return isAuthError(error) && error.status === 503
}

/** What code can tell a {@link ConfigurationError} by. */
export type ConfigurationErrorCode =
  /** `getAuth` was called while the module of the auth definition was still loading. */
  | 'DEFINITION_MISSING'
  /** A context has neither a database nor a way to one. */
  | 'CONTEXT_EMPTY'
  /** A context has both, so nobody can say which one counts. */
  | 'CONTEXT_UNCLEAR'
  /** A query tried to write. */
  | 'WRITE_IN_QUERY'

/** An app that is put together in a way that cannot work. The message names the cause and the cure. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  /** Null for a setting, whose name is in the message. */
  readonly code: ConfigurationErrorCode | null

  constructor(message: string, options: { code?: ConfigurationErrorCode; cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    Object.defineProperty(this, configurationBrand, { value: true })
    this.code = options.code ?? null
  }
}

/** Whether a value is a {@link ConfigurationError}, also one from another copy of this package. */
export function isConfigurationError(value: unknown): value is ConfigurationError {
  return typeof value === 'object' && value !== null && configurationBrand in value
}

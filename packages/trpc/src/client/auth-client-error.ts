import { type ErrorResponse, isSessionOver } from '@sallyport/core/internal/protocol'

/** An auth endpoint rejected the call, another program responded, or there was no response. */
export class AuthClientError extends Error {
  /**
   * A reason such as `RATE_LIMITED` or `SECRET_SUPERSEDED`, or a code of the client:
   * - `UNREACHABLE`: there was no response
   * - `UNKNOWN`: the response isn't from an auth endpoint
   * - `USER_CHANGED`: another user signed in, or the user signed out, before the response arrived
   * - `REFRESH_LOOP`: the server rejects each new token
   * - `BEARER_DISABLED`: the client keeps tokens, but the server responds with cookies
   */
  declare readonly code: string
  /** The HTTP status, or a matching one; 0 if there was no response. */
  declare readonly status: number
  /** Names of the fields at fault, with `INVALID_INPUT`. */
  declare readonly fields: readonly string[]
  /** Seconds to wait before another attempt; null where waiting does not help. */
  declare readonly retryAfterSeconds: number | null

  constructor(status: number, response: ErrorResponse, cause?: unknown) {
    const { code, message, fields = [], retryAfterSeconds = null } = response
    super(message, { cause })
    Object.assign(this, { name: 'AuthClientError', status, code, fields, retryAfterSeconds })
  }
}

/** An error of the client's own. */
export function ownError(code: keyof typeof MESSAGES, status = 0, cause?: unknown): AuthClientError {
  return new AuthClientError(status, { code, message: MESSAGES[code] }, cause)
}

const MESSAGES = {
  ACCOUNT_BANNED: 'Account banned',
  BEARER_DISABLED: 'The server lacks `bearer: true`',
  REFRESH_LOOP: 'New tokens are refused',
  SECRET_SUPERSEDED: 'This session has new credentials. Reload the page or sign in.',
  SESSION_NOT_FOUND: 'The session has ended',
  UNKNOWN: 'No answer of an auth endpoint',
  UNREACHABLE: 'No connection to the server',
  USER_CHANGED: 'The user has changed',
} as const

/** What a call fails with that needs a session, where nobody is signed in. */
export function signedOut(): AuthClientError {
  return ownError('SESSION_NOT_FOUND', 401)
}

/** What a call fails with whose answer belongs to a user who is no longer the one. */
export function userChanged(): AuthClientError {
  return ownError('USER_CHANGED', 499)
}

/** Whether an error says for certain that the session has ended: nothing else signs a client out. */
export function isSignedOut({ status, code }: AuthClientError): boolean {
  return status === 401 && isSessionOver(code)
}

/** The error of a tab after another tab of this browser was signed out with `SECRET_SUPERSEDED`. */
export function superseded(): AuthClientError {
  return ownError('SECRET_SUPERSEDED', 409)
}

/**
 * Whether the token endpoint rejected the session secret because a newer one replaced it. The session itself
 * goes on.
 */
export function isSuperseded({ status, code }: AuthClientError): boolean {
  return status === 409 && code === 'SECRET_SUPERSEDED'
}

/** Whether an error is an answer that asking again by itself would not change. */
export function isDecided({ code }: AuthClientError): boolean {
  return code === 'ACCOUNT_BANNED' || code === 'COOKIE_CONFLICT' || code === 'REFRESH_LOOP'
}

/** Whether asking again, with the same cookies and from the same page, would be refused again. */
export function isRefusal({ status }: AuthClientError): boolean {
  return /^4(?!08|29)/.test(String(status))
}

/** An error as one of ours; what was thrown is its cause. */
export function toClientError(cause: unknown): AuthClientError {
  if (cause instanceof AuthClientError) return cause
  return new AuthClientError(0, { code: 'UNKNOWN', message: String(cause) }, cause)
}

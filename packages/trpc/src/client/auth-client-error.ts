import { type ErrorResponse, isSessionOver } from '@sallyport/core/protocol'

/** A refusal of an auth endpoint, an answer that was none of ours, or no answer at all. */
export class AuthClientError extends Error {
  /**
   * A reason such as `RATE_LIMITED`, or one of the client's own: `UNREACHABLE` where nobody answered, `UNKNOWN` where what answered was no
   * auth endpoint, `USER_CHANGED` for an answer that came when its user was no longer the one, `REFRESH_LOOP` where new tokens are refused
   * again and again, and `BEARER_DISABLED` where a server answers with cookies to a client that keeps tokens.
   */
  declare readonly code: string
  /** The HTTP status, or the one that fits; 0 where nobody answered. */
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
  BEARER_DISABLED: 'The server lacks `bearer: true`',
  REFRESH_LOOP: 'New tokens are refused',
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

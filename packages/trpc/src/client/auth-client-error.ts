import {
  type ErrorResponse,
  isSessionOver,
  type RequiredProof,
  type SignInChallenge,
} from '@sallyport/core/internal/protocol'

/** The error of a call to an auth endpoint: a rejection, a response of another program, or no response. */
export class AuthClientError extends Error {
  /**
   * A reason such as `RATE_LIMITED` or `SECRET_SUPERSEDED`, or a code of the client:
   * - `UNREACHABLE`: there was no response
   * - `UNKNOWN`: the response isn't from an auth endpoint
   * - `USER_CHANGED`: another user signed in, or the user signed out, before the response arrived
   * - `REDIRECT_REJECTED`: `redirectTo` isn't a page of this origin
   * - `POPUP_BLOCKED`: the browser blocked the pop-up of `openPopup`
   * - `SIGN_IN_CANCELED`: the pop-up was closed, or the user canceled the sign-in at the provider
   * - `REFRESH_LOOP`: the server rejects each new token
   * - `BEARER_DISABLED`: the client keeps tokens, but the server responds with cookies
   */
  declare readonly code: string
  /** The HTTP status, or a matching one; 0 if there was no response. */
  declare readonly status: number
  /** Seconds to wait before another attempt; null if waiting doesn't help. */
  readonly retryAfterSeconds: number | null = null
  /** With `FACTOR_REQUIRED` at a sign-in: send its token with the second factor. Otherwise null. */
  readonly challenge: SignInChallenge | null = null
  /** The invalid fields, with `INVALID_INPUT`. */
  readonly fields: readonly string[] = []
  /** What satisfies the endpoint, with `SESSION_NOT_FRESH` and `FACTOR_REQUIRED`; null at a sign-in. */
  readonly required: RequiredProof | null = null

  constructor(status: number, response: ErrorResponse | AuthClientError, cause?: unknown) {
    super(response.message, { cause })
    Object.assign(this, response, { name: 'AuthClientError', status })
  }
}

/** Status and message. A code without a message is for developers. */
const ERRORS = {
  ACCOUNT_BANNED: [403, 'Account banned'],
  REDIRECT_REJECTED: [400],
  REFRESH_LOOP: [401],
  SESSION_NOT_FOUND: [401, 'The session has ended. Sign in again.'],
  UNKNOWN: [200, 'No connection to the server'],
  UNREACHABLE: [0, 'No connection to the server'],
  USER_CHANGED: [499, 'The user has changed'],
} as const

type ClientCode = keyof typeof ERRORS

const HINTS: { readonly [Code in ClientCode]?: string } = {
  REDIRECT_REJECTED: 'redirectTo must be a page of this origin',
  REFRESH_LOOP: 'The server rejects its new tokens. Check JWKS',
  UNKNOWN: 'The response is not from an auth endpoint. Check baseUrl',
}

/** Returns a message that says what to fix. Returns nothing in production. */
function hintFor(code: ClientCode): string | undefined {
  try {
    // Written so bundlers can replace the expression and drop the texts from production code.
    if (process.env.NODE_ENV !== 'production') return HINTS[code]
  } catch {
    // Browsers have no `process`.
  }
  return undefined
}

export function clientError(code: ClientCode, cause?: unknown): AuthClientError {
  const [status, message = code]: readonly [number, string?] = ERRORS[code]
  return new AuthClientError(status, { code, message: hintFor(code) ?? message }, cause)
}

export function toClientError(cause: unknown): AuthClientError {
  // Compares names: two copies of this library on a page have different classes.
  if ((cause as Error | null)?.name === 'AuthClientError') return cause as AuthClientError
  return new AuthClientError(0, { code: 'UNKNOWN', message: String(cause) }, cause)
}

export function isSignedOut({ status, code }: AuthClientError): boolean {
  return status === 401 && isSessionOver(code)
}

/** Returns whether a newer session secret replaced the client's. The session goes on. */
export function isSuperseded({ status, code }: AuthClientError): boolean {
  return status === 409 && code === 'SECRET_SUPERSEDED'
}

/** Returns whether automatic retries would get the same error. */
export function isDecided(error: AuthClientError | null): boolean {
  return /^(ACCOUNT_BANNED|COOKIE_CONFLICT|REFRESH_LOOP)$/.test(`${error?.code}`)
}

/** Returns whether the server rejected the request: a 4xx other than 408 and 429. */
export function isRejection({ status }: Pick<AuthClientError, 'status'>): boolean {
  return /^4(?!08|29)/.test(`${status}`)
}

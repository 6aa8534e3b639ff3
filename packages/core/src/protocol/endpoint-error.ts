/** HTTP statuses and messages by error code. */
export type RejectionTable = Readonly<Record<string, { readonly status: number; readonly message: string }>>

/** The errors of auth endpoints that aren't a `Reason`. Plugins add their own. */
export const ENDPOINT_ERRORS = {
  INVALID_INPUT: { status: 400, message: 'The request is not valid' },
  SESSION_SECRET_REQUIRED: { status: 400, message: 'Send the current session cookie or x-sallyport-session' },
  PREFETCH_REJECTED: { status: 400, message: 'This endpoint rejects prefetches' },
  CHALLENGE_INVALID: { status: 400, message: 'This sign-in has expired. Sign in again.' },
  NOT_FOUND: { status: 404, message: 'Endpoint not found' },
  USER_NOT_FOUND: { status: 404, message: 'User not found' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'Method not allowed. Use the method of this endpoint.' },
  LAST_WAY_IN: { status: 409, message: 'This is your last way to sign in. Add another one first.' },
  LAST_ADMIN: { status: 409, message: 'This is the last admin. Make another user an admin first.' },
  TOO_MANY_SESSIONS: { status: 409, message: 'You are signed in on too many devices. Sign out on one.' },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The request body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'Send JSON with content-type application/json' },
  INTERNAL_ERROR: { status: 500, message: 'Something went wrong' },
} as const
ENDPOINT_ERRORS satisfies RejectionTable

const brand = Symbol.for('sallyport.EndpointError')

type RejectionOptions = { readonly fields?: readonly string[]; readonly cause?: unknown }

/** The response repeats the names of invalid fields, and a request can have thousands of them. */
const MAX_FIELDS = 20

/** A rejection by an auth endpoint. The response carries the code and its fixed message. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError'
  readonly code: string
  readonly status: number
  /** The invalid fields, with `INVALID_INPUT`. At most 20. */
  readonly fields: readonly string[]

  constructor(rejection: { code: string; status: number; message: string }, options: RejectionOptions = {}) {
    super(rejection.message, options)
    Object.defineProperty(this, brand, { value: true })
    this.code = rejection.code
    this.status = rejection.status
    this.fields = options.fields?.slice(0, MAX_FIELDS) ?? []
  }
}

/** Returns whether a value is an {@link EndpointError}, even from another copy of this package. */
export function isEndpointError(value: unknown): value is EndpointError {
  return typeof value === 'object' && value !== null && brand in value
}

/**
 * Returns a function that creates the errors of a table. A plugin passes the same table as its `reasons`.
 * @example
 * const reasons = { USERNAME_TAKEN: { status: 409, message: 'Choose another name' } } as const
 * const reject = rejections(reasons)
 * throw reject('USERNAME_TAKEN')
 */
export function rejections<Table extends RejectionTable>(
  table: Table,
): (code: keyof Table & string, options?: RejectionOptions) => EndpointError {
  return (code, options) => {
    const { status, message } = table[code] ?? ENDPOINT_ERRORS.INTERNAL_ERROR
    return new EndpointError({ code, status, message }, options)
  }
}

export const reject: (code: keyof typeof ENDPOINT_ERRORS, options?: RejectionOptions) => EndpointError =
  rejections(ENDPOINT_ERRORS)

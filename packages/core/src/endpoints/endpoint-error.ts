/** What is wrong with a request to an auth endpoint, besides a `Reason`. */
export const ENDPOINT_ERRORS = {
  INVALID_INPUT: { status: 400, message: 'The request body is not valid' },
  PREFETCH_REFUSED: { status: 400, message: 'This endpoint does not answer prefetches' },
  INVALID_CREDENTIALS: { status: 401, message: 'Email or password is wrong' },
  NOT_FOUND: { status: 404, message: 'There is no such endpoint' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'This endpoint does not take this method' },
  EMAIL_TAKEN: { status: 409, message: 'There is an account with this email' },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The request body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'Send JSON with content-type application/json' },
  INTERNAL_ERROR: { status: 500, message: 'Something went wrong' },
} as const
ENDPOINT_ERRORS satisfies Record<string, { status: number; message: string }>

/** One member of {@link ENDPOINT_ERRORS}. */
export type EndpointErrorCode = keyof typeof ENDPOINT_ERRORS

/** A refusal of an auth endpoint. The answer carries the code and its fixed text. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError'
  readonly code: EndpointErrorCode
  /** Names of the fields at fault, with `INVALID_INPUT`. */
  readonly fields: readonly string[]

  constructor(code: EndpointErrorCode, options: { fields?: readonly string[]; cause?: unknown } = {}) {
    super(ENDPOINT_ERRORS[code].message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.fields = options.fields ?? []
  }
}

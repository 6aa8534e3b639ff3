/** The reasons of {@link CallRejection}, with the tRPC code of the internal listener. */
export const CALL_REJECTIONS = {
  /** The body isn't a call. */
  CALL_INVALID: 'BAD_REQUEST',
  TOKEN_MISSING: 'UNAUTHORIZED',
  TOKEN_INVALID: 'UNAUTHORIZED',
  TOKEN_EXPIRED: 'UNAUTHORIZED',
  TOKEN_REPLAYED: 'UNAUTHORIZED',
  /** A browser sent it. */
  ORIGIN_REJECTED: 'FORBIDDEN',
  FUNCTION_NOT_FOUND: 'NOT_FOUND',
  METHOD_NOT_ALLOWED: 'METHOD_NOT_SUPPORTED',
  /** The idempotency key was used for another call. */
  KEY_REUSED: 'CONFLICT',
  PAYLOAD_TOO_LARGE: 'PAYLOAD_TOO_LARGE',
  /** The call may have run, or can't run now. */
  UNDECIDED: 'SERVICE_UNAVAILABLE',
} as const

export type CallRejectionCode = keyof typeof CALL_REJECTIONS

const brand: unique symbol = Symbol.for('sallyport.CallRejection') as never

/** The error of a call that didn't reach its function, or whose outcome is unknown. */
export class CallRejection extends Error {
  override readonly name = 'CallRejection'
  readonly code: CallRejectionCode

  constructor(code: CallRejectionCode, options: { cause?: unknown } = {}) {
    super(`An internal call was rejected: ${code}`, options)
    Object.defineProperty(this, brand, { value: true })
    this.code = code
  }
}

export function isCallRejection(value: unknown): value is CallRejection {
  return typeof value === 'object' && value !== null && brand in value
}

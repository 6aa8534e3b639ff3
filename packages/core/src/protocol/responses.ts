import type { ErrorResponse } from '../protocol.ts'
import { ENDPOINT_ERRORS, isEndpointError } from './endpoint-error.ts'
import { isAuthError } from './errors.ts'

/** Returns the status and body of the response to an error. It never has text of an unknown error. */
export function toErrorResponse(error: unknown): ErrorResponse & { status: number } {
  if (isAuthError(error)) {
    const { status, reason, message, retryAfterSeconds, challenge, required } = error
    return {
      status,
      code: reason,
      message,
      ...(retryAfterSeconds !== null && { retryAfterSeconds }),
      ...(challenge !== undefined && { challenge }),
      ...(required !== undefined && { required }),
    }
  }
  if (isEndpointError(error)) {
    const { status, code, message, fields } = error
    return { status, code, message, ...(fields.length > 0 && { fields }) }
  }
  return { code: 'INTERNAL_ERROR', ...ENDPOINT_ERRORS.INTERNAL_ERROR }
}

/** Keeps caches from storing or sharing a response, and browsers from guessing its type. */
export function withCommonHeaders(response: Response): Response {
  response.headers.append('vary', 'Cookie')
  response.headers.set('cache-control', 'no-store')
  response.headers.set('x-content-type-options', 'nosniff')
  return response
}

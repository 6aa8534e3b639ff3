import { isAuthError, isEndpointError } from '@sallyport/core'

/**
 * Returns the code of a rejection: the reason of a gate or of an endpoint. Throws any other error, or if
 * there was no rejection.
 */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
  } catch (error) {
    if (isAuthError(error)) return error.reason
    if (isEndpointError(error)) return error.code
    throw error
  }
  throw new Error('It was not rejected')
}

import { isAuthError, isEndpointError } from '@sallyport/core'

/**
 * Returns the code of a rejection, the reason of a gate or of an endpoint, or `accepted`. Rethrows any other
 * error.
 */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'accepted'
  } catch (error) {
    if (isAuthError(error)) return error.reason
    if (isEndpointError(error)) return error.code
    throw error
  }
}

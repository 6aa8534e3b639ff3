import { isAuthError, isEndpointError } from '@sallyport/core'

/** The code of a rejection: the reason of a gate, or that of an endpoint. Fails where there was no rejection, or another error. */
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

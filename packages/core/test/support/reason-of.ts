import { isAuthError, type Reason } from '@sallyport/core'

/** Returns the reason of a promise's rejection, or `accepted`. Rethrows any other error. */
export async function reasonOf(promise: Promise<unknown>): Promise<Reason | 'accepted'> {
  try {
    await promise
    return 'accepted'
  } catch (error) {
    if (isAuthError(error)) return error.reason
    throw error
  }
}

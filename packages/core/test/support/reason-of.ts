import { isAuthError, type Reason } from '@sallyport/core'

/** How a promise ended: the reason of its rejection, or `accepted`. Any error but a rejection is thrown on. */
export async function reasonOf(promise: Promise<unknown>): Promise<Reason | 'accepted'> {
  try {
    await promise
    return 'accepted'
  } catch (error) {
    if (isAuthError(error)) return error.reason
    throw error
  }
}

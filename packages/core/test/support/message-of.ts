import { ConfigurationError } from '@sallyport/core'

/** Returns the message of a configuration error, or `accepted`. Rethrows any other error. */
export function messageOf(work: () => unknown): string {
  try {
    work()
    return 'accepted'
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message
    throw error
  }
}

import { ConfigurationError } from '@sallyport/core'

/** What a rejected setting is told, or `accepted`. Any other error is thrown on. */
export function messageOf(work: () => unknown): string {
  try {
    work()
    return 'accepted'
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message
    throw error
  }
}

import type { ConfigurationErrorCode } from '@sallyport/core'
import { isConfigurationError } from '@sallyport/core/internal/server'

/** Returns the code of an error that a function throws or rejects with. */
export async function codeOf(run: () => unknown): Promise<ConfigurationErrorCode | null | 'no error'> {
  try {
    await run()
    return 'no error'
  } catch (error) {
    const cause = error instanceof Error && isConfigurationError(error.cause) ? error.cause : error
    if (!isConfigurationError(cause)) throw error
    return cause.code
  }
}

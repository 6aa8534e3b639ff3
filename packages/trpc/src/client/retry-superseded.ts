import { isSuperseded, toClientError } from './auth-client-error.ts'

/** Pauses before each further attempt, in milliseconds. */
const RETRY_PAUSES_MS = [200, 1_000, 3_000] as const

/**
 * Repeats a request while the token endpoint rejects the session secret with `SECRET_SUPERSEDED`: a response
 * that carries the current secret may still be on its way to this browser.
 *
 * @throws the rejection of the last attempt, or any other error at once
 */
export async function retrySuperseded(
  attempt: () => Promise<void>,
  pause: (milliseconds: number) => Promise<void>,
): Promise<void> {
  for (const milliseconds of RETRY_PAUSES_MS) {
    try {
      return await attempt()
    } catch (error) {
      if (!isSuperseded(toClientError(error))) throw error
    }
    await pause(milliseconds)
  }
  return attempt()
}

import { AuthClientError } from '../client/auth-client-error.ts'
import type { ClientSession } from '../client/client-session.ts'

/**
 * Asks the server whether it rejects WebSockets from this page, and returns the error with its fix. Returns
 * null if it accepts them, or if the client couldn't find out. With bearer transport, any page may open one.
 */
export async function findPageError(session: ClientSession): Promise<AuthClientError | null> {
  const origin = globalThis.location?.origin
  if (origin === undefined || session.isBearer || !(await session.isPageRejected())) return null
  const error = new AuthClientError(403, {
    code: 'ORIGIN_REJECTED',
    message: `The server rejects WebSockets from ${origin}. Open the app at its base URL, or add ${origin} to allowedOrigins.`,
  })
  session.rejectPage(error)
  return error
}

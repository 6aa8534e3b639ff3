import { CLIENT_HEADER, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { AuthClientError } from '../client/auth-client-error.ts'
import { TIMEOUT_MS } from '../client/call-endpoint.ts'
import type { ClientSession } from '../client/client-session.ts'

/**
 * Asks the server whether it rejects WebSockets from this page, and returns the error with its fix. Returns
 * null if it accepts them, or if the client couldn't find out. With bearer transport, any page may open one.
 */
export async function findPageError(session: ClientSession): Promise<AuthClientError | null> {
  const origin = globalThis.location?.origin
  if (origin === undefined || session.tokens) return null
  const code = await session
    .reach({ credentials: 'include', headers: () => ({ [CLIENT_HEADER]: origin }) })(
      ENDPOINTS.getSession,
      {},
      undefined,
      TIMEOUT_MS,
    )
    .then(
      () => null,
      ({ code }) => code,
    )
  if (code !== 'ORIGIN_REJECTED') return null
  const error = new AuthClientError(403, {
    code: 'ORIGIN_REJECTED',
    message: `The server rejects WebSockets from ${origin}. Open the app at its base URL, or add ${origin} to allowedOrigins.`,
  })
  session.dispatch({ type: 'page-rejected', error })
  return error
}

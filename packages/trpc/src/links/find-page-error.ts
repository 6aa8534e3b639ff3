import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { AuthClientError, toClientError } from '../client/auth-client-error.ts'
import { routeOf } from '../client/route-of.ts'
import type { LinkSession } from './link-session.ts'

/** Returns an error if the server rejects the page's origin. With bearer transport, any may connect. */
export async function findPageError(session: LinkSession): Promise<AuthClientError | null> {
  const origin = globalThis.location?.origin
  if (!origin || session.tokens) return null
  const headers = { [CLIENT_HEADER]: origin }
  const error = await session
    .fetchEndpoint(routeOf('getSession'), { headers })
    .then(() => null, toClientError)
  if (error?.code !== 'ORIGIN_REJECTED') return null
  try {
    // Written so bundlers can replace the expression and drop the text from production code.
    if (process.env.NODE_ENV !== 'production')
      return new AuthClientError(403, {
        code: 'ORIGIN_REJECTED',
        message:
          `The server rejects WebSockets from ${origin}. ` +
          `Open the app at its base URL, or add ${origin} to allowedOrigins.`,
      })
  } catch {
    // Browsers have no `process`.
  }
  return error
}

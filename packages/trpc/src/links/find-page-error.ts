import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { AuthClientError, toClientError } from '../client/auth-client-error.ts'
import { routeOf } from '../client/route-of.ts'
import type { LinkSession } from './link-session.ts'

/** Checks whether the server accepts the page's origin. With bearer transport, any origin may connect. */
export async function findPageError(session: LinkSession): Promise<void> {
  const origin = globalThis.location?.origin
  if (!origin || session.tokens) return
  const headers = { [CLIENT_HEADER]: origin }
  let error = await session.fetchEndpoint(routeOf('getSession'), { headers }).then(() => null, toClientError)
  if (error?.code !== 'ORIGIN_REJECTED') return
  try {
    // Written so bundlers can replace the expression and drop the text from production code.
    if (process.env.NODE_ENV !== 'production')
      error = new AuthClientError(403, {
        code: 'ORIGIN_REJECTED',
        message:
          `The server rejects WebSockets from ${origin}. ` +
          `Open the app at its base URL, or add ${origin} to allowedOrigins.`,
      })
  } catch {
    // Browsers have no `process`.
  }
  session.dispatch({ type: 'page-rejected', error })
}

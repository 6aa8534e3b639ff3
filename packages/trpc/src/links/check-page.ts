import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { AuthClientError } from '../client/auth-client-error.ts'
import { routeOf } from '../client/route-of.ts'
import type { LinkSession } from './link-session.ts'

/** Reports an error if the server rejects the page's origin. With bearer transport, any may connect. */
export async function checkPage(
  session: LinkSession,
  report: (error: AuthClientError) => void,
): Promise<void> {
  const origin = globalThis.location?.origin
  if (!origin || session.tokens) return
  await session
    .send({ ...routeOf('getSession'), headers: { [CLIENT_HEADER]: origin } })
    .catch((rejection: AuthClientError) => {
      let error = rejection
      if (error.code !== 'ORIGIN_REJECTED') return
      try {
        // Written so bundlers can replace the expression and drop the text from production code.
        if (process.env.NODE_ENV !== 'production') {
          const fix = `Open the app at its base URL, or add ${origin} to allowedOrigins.`
          const message = `The server rejects WebSockets from ${origin}. ${fix}`
          error = new AuthClientError(error.status, { ...error, message })
        }
      } catch {
        // Browsers have no `process`.
      }
      report(error)
    })
}

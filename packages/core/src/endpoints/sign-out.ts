import * as z from 'zod'
import { identify } from '../authenticate.ts'
import { clearCookie } from '../cookie.ts'
import { readCredentials } from '../credentials.ts'
import { ENDPOINT_PATHS } from '../protocol.ts'
import { revokeSession, signOutSession } from '../session/lifecycle.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from './endpoint.ts'

/**
 * Ends the caller's session and deletes both cookies (spec section 4). The session cookie alone says whose it is, so it works
 * with an expired JWT and for a banned user, and doing it twice is not an error. A client with a bearer token and no cookie is known
 * by its token.
 */
export const signOut: Endpoint = defineEndpoint({
  method: 'POST',
  path: ENDPOINT_PATHS.signOut,
  origin: 'mutation',
  caller: 'anyone',
  input: z.strictObject({}).optional(),
  async run(_input, context) {
    const { config, sessionCookie, database } = context
    if (sessionCookie !== null) await signOutSession(sessionCookie, database)
    else await signOutBearer(context)
    return {
      body: { success: true },
      cookies: [clearCookie(config.cookies.jwt, config), clearCookie(config.cookies.session, config)],
    }
  },
})

async function signOutBearer({ config, database, request }: EndpointContext): Promise<void> {
  if (readCredentials(request.header, config).transport !== 'bearer') return
  const { sessionId } = await identify(request, 'mutation', config)
  await revokeSession(sessionId, database)
}

import * as z from 'zod'
import { identify } from '../authenticate.ts'
import { clearCookie } from '../cookie.ts'
import { readCredentials } from '../credentials.ts'
import { isAuthError } from '../errors.ts'
import { ENDPOINT_PATHS } from '../protocol.ts'
import { revokeSession, signOutSession } from '../session/lifecycle.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from './endpoint.ts'

/**
 * Ends the caller's session and deletes both cookies (spec section 4). The session cookie alone says whose it is, so it works
 * with an expired JWT and for a banned user, and doing it twice is not an error. Without that cookie the JWT
 * says it.
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
    else await signOutByToken(context)
    return {
      body: { success: true },
      cookies: [clearCookie(config.cookies.jwt, config), clearCookie(config.cookies.session, config)],
    }
  },
})

/**
 * Without the session cookie the JWT says whose session it is. One that is no good ends nothing: in a cookie there is nothing left to
 * end then, and a program that sent it as a bearer token is told.
 */
async function signOutByToken({ config, database, request }: EndpointContext): Promise<void> {
  const { transport, token } = readCredentials(request.header, config)
  if (token === null) return
  try {
    const { sessionId } = await identify(request, 'mutation', config)
    await revokeSession(sessionId, database)
  } catch (error) {
    if (transport === 'bearer' || !isAuthError(error) || error.status !== 401) throw error
  }
}

import { identify } from '../authenticate.ts'
import { clearCookies } from '../cookie.ts'
import { readCredentials } from '../credentials.ts'
import { isAuthError } from '../errors.ts'
import { ENDPOINTS, type SuccessResponse } from '../protocol.ts'
import { deleteSessionOf, deleteSessions } from '../session/end-session.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from './endpoint.ts'
import { done, noFields } from './plain-schemas.ts'

/**
 * Ends the caller's session and deletes both cookies (spec section 4). The session cookie alone says whose it is, so it works
 * with an expired JWT and for a banned user, and doing it twice is not an error. Without that cookie the JWT
 * says it.
 */
export const signOut: Endpoint<object, SuccessResponse, true> = defineEndpoint({
  ...ENDPOINTS.signOut,
  caller: 'anyone',
  setsCookies: true,
  input: noFields,
  output: done,
  async run(_input, context) {
    const { config, sessionCookie } = context
    const ending = { cause: 'sign-out', at: config.now() } as const
    if (sessionCookie === null) await signOutByToken(context)
    else await context.change((trx, record) => deleteSessionOf(sessionCookie, { trx, record, ...ending }))
    return { body: { success: true }, cookies: clearCookies(config.cookies, config) }
  },
})

/**
 * Without the session cookie the JWT says whose session it is. One that is no good ends nothing: in a cookie there is nothing left to
 * end then, and a program that sent it as a bearer token is told.
 */
async function signOutByToken({ config, change, request }: EndpointContext): Promise<void> {
  const { transport, token } = readCredentials(request.header, config)
  if (token === null) return
  try {
    const { sessionId, userId } = await identify(request, 'mutation', config)
    const ending = { cause: 'sign-out', actorId: null, at: config.now() } as const
    await change((trx, record) => deleteSessions(trx, record, { sessionId, userId, ...ending }))
  } catch (error) {
    if (transport === 'bearer' || !isAuthError(error) || error.status !== 401) throw error
  }
}

import { deleteSessionOf, deleteSessions } from '../lifecycle/end-session.ts'
import { validateLocked } from '../lifecycle/locked-sessions.ts'
import { findToken } from '../lifecycle/refresh-session.ts'
import { isAuthError } from '../protocol/errors.ts'
import { ENDPOINTS, isSessionOver, type SuccessResponse } from '../protocol.ts'
import { clearCookies } from '../request/cookie.ts'
import { readCredentials } from '../request/credentials.ts'
import { identify } from '../session/authenticate.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from './endpoint.ts'
import { done, noFields } from './plain-schemas.ts'

/**
 * Ends the caller's session and deletes both cookies (spec section 4). Needs only the session cookie, so it
 * works with an expired JWT, for a banned user, and twice. Without that cookie it uses the JWT.
 */
export const signOut: Endpoint<object, SuccessResponse, true> = defineEndpoint({
  ...ENDPOINTS.signOut,
  caller: 'anyone',
  setsCookies: true,
  input: noFields,
  output: done,
  async run(_input, context) {
    const { config, sessionCookie, change, database } = context
    const ending = { cause: 'sign-out', at: config.now() } as const
    if (sessionCookie === null) await signOutByToken(context)
    else {
      const hasEnded = await change((trx, record) =>
        deleteSessionOf(sessionCookie, { trx, record, ...ending }),
      )
      // Throws if row-level security only hides the session.
      if (!hasEnded) await findToken(sessionCookie.sessionId, database, config)
    }
    return { body: { success: true }, cookies: clearCookies(config.cookies) }
  },
})

/** An invalid JWT ends nothing, which is an error only for a bearer token: with cookies nothing is left. */
async function signOutByToken({ config, change, request, database }: EndpointContext): Promise<void> {
  const { transport, token } = readCredentials(request.header, config)
  if (token === null) return
  try {
    const identity = await identify(request, 'mutation', config)
    const { sessionId, userId } = identity
    const ended = await change(async (trx, record) => {
      const lock = { trx, locks: database.locks, now: config.now }
      await validateLocked(identity, lock).catch(ignoreEndedOrBanned)
      return deleteSessions(trx, record, { sessionId, userId, cause: 'sign-out', at: config.now() })
    })
    if (ended === 0) await findToken(identity.sessionId, database, config)
  } catch (error) {
    if (transport === 'bearer' || !isAuthError(error) || error.status !== 401) throw error
  }
}

/** Rethrows the rest: a copied token from before the credentials were replaced must not end the session. */
function ignoreEndedOrBanned(error: unknown): void {
  if (isAuthError(error) && (isSessionOver(error.reason) || error.reason === 'ACCOUNT_BANNED')) return
  throw error
}

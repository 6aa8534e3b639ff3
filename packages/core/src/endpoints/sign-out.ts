import type { AuthConfig } from '../config.ts'
import type { Identity } from '../jwt/identity.ts'
import { deleteSessionOf, deleteSessions } from '../lifecycle/end-session.ts'
import { LOCK_TIMEOUT_MS, lockingAdapter } from '../lifecycle/locking-adapter.ts'
import { isAuthError } from '../protocol/errors.ts'
import { ENDPOINTS, isSessionOver, type SuccessResponse } from '../protocol.ts'
import { clearCookies } from '../request/cookie.ts'
import { readCredentials } from '../request/credentials.ts'
import { identify } from '../session/authenticate.ts'
import type { SessionReader } from '../session/session-store.ts'
import { validateSession } from '../session/validate-session.ts'
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
async function signOutByToken({ config, change, request, database }: EndpointContext): Promise<void> {
  const { transport, token } = readCredentials(request.header, config)
  if (token === null) return
  try {
    const identity = await identify(request, 'mutation', config)
    const { sessionId, userId } = identity
    const ending = { cause: 'sign-out', actorId: null, at: config.now() } as const
    await change(async (trx, record) => {
      await requireCurrentToken(identity, lockingAdapter(trx, database.columns), config)
      await deleteSessions(trx, record, { sessionId, userId, ...ending })
    })
  } catch (error) {
    if (transport === 'bearer' || !isAuthError(error) || error.status !== 401) throw error
  }
}

/**
 * A copied token from before the credentials were replaced must not end the session. A banned user may sign
 * out.
 */
async function requireCurrentToken(
  identity: Identity,
  sessions: SessionReader,
  config: AuthConfig,
): Promise<void> {
  const patient = { now: config.now, lookupTimeoutMs: LOCK_TIMEOUT_MS }
  await validateSession(identity, sessions, patient).catch((error: unknown) => {
    const isKnown = isAuthError(error) && (isSessionOver(error.reason) || error.reason === 'ACCOUNT_BANNED')
    if (!isKnown) throw error
  })
}

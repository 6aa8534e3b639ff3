import { refuse } from '../endpoint-error.ts'
import { emit } from '../events/emit.ts'
import { ENDPOINTS, type TokenResponse } from '../protocol.ts'
import { refreshSession } from '../session/refresh-session.ts'
import { defineEndpoint, type Endpoint } from './endpoint.ts'
import { prepareTokens } from './issue-tokens.ts'
import { anyQuery, tokens } from './plain-schemas.ts'

/**
 * A new JWT for a session that still counts (spec section 4), and the one place where a session is extended. Authenticates by the session
 * cookie alone, since the JWT may have expired. A prefetch must not mint: nobody asked for it.
 */
export const token: Endpoint<object, TokenResponse, true> = defineEndpoint({
  ...ENDPOINTS.token,
  origin: 'token',
  caller: 'anyone',
  setsCookies: true,
  input: anyQuery,
  output: tokens,
  async run(_input, context) {
    const { config, database, request, sessionCookie } = context
    const purposes = ['sec-purpose', 'purpose', 'x-moz'].map(
      (name) => request.header(name)?.toLowerCase() ?? '',
    )
    if (purposes.some((purpose) => purpose.includes('prefetch'))) throw refuse('PREFETCH_REFUSED')
    const refresh = await refreshSession(sessionCookie, { database, config })
    // Whatever may fail comes before the secret changes, of which the browser would never hear.
    const issue = await prepareTokens(refresh.session, context)
    const session = await refresh.advance()
    const { userId, id: sessionId, renewed } = session
    // A renewal has been recorded with its change.
    if (!renewed)
      emit({ type: 'session.refreshed', at: config.now(), userId, sessionId, renewed }, database.onEvent)
    return issue(session)
  },
})

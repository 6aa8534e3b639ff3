import { emit } from '../events/emit.ts'
import { refreshSession } from '../lifecycle/refresh-session.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { AuthError, isAuthError, isUnavailable } from '../protocol/errors.ts'
import { ENDPOINTS, type TokenResponse } from '../protocol.ts'
import { memoryLimits } from '../rate-limit/memory-limits.ts'
import { addressBuckets } from '../request/address.ts'
import { readCredentials } from '../request/credentials.ts'
import { authenticate } from '../session/authenticate.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from './endpoint.ts'
import { prepareTokens } from './issue-tokens.ts'
import { anyQuery, tokens } from './plain-schemas.ts'
import { countSuperseded } from './renew-session.ts'

/** How often one session may be refreshed. */
const REFRESHES = { points: 300, duration: 60 }

/** Counted in this process: a refresh that changes nothing must not need a database that can write. */
const refreshes = memoryLimits()

/** How often one network may ask without a valid secret. */
const REJECTIONS = { points: 300, duration: 60 }

/**
 * Issues a new JWT for a valid session (spec section 4). Only this endpoint extends a session. It
 * authenticates by the session cookie alone, because the JWT may have expired. A prefetch gets no JWT,
 * because the user may never open the page.
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
    if (purposes.some((purpose) => purpose.includes('prefetch'))) throw reject('PREFETCH_REFUSED')
    if (sessionCookie === null) throw await withoutSecret(context)
    const refresh = await refreshSession(sessionCookie, { database, config }).catch(
      async (error: unknown) => {
        await countRejection(error, sessionCookie.sessionId, context)
        throw error
      },
    )
    const retryAfterSeconds = await refreshes.consume(refresh.session.id, REFRESHES)
    if (retryAfterSeconds !== null) throw new AuthError('RATE_LIMITED', { retryAfterSeconds })
    // Anything that may fail comes first: once the secret is replaced, the browser must get the new one.
    const issue = await prepareTokens(refresh.session, context)
    const session = await refresh.advance()
    const { userId, id: sessionId, renewed } = session
    // A renewal has been recorded with its change.
    if (!renewed)
      emit({ type: 'session.refreshed', at: config.now(), userId, sessionId, renewed }, database.onEvent)
    return issue(session)
  },
})

/** Counts guessed and superseded secrets. @throws AuthError `RATE_LIMITED` */
async function countRejection(error: unknown, sessionId: string, context: EndpointContext): Promise<void> {
  if (!isAuthError(error) || isUnavailable(error)) return
  if (error.reason === 'SECRET_SUPERSEDED') await countSuperseded(sessionId, context)
  else if (error.status === 401) await countStranger(context)
}

async function countStranger(context: EndpointContext): Promise<void> {
  for (const { name, limit } of addressBuckets(context.address, REJECTIONS))
    await context.limit(`token:rejected:${name}`, limit)
}

/**
 * The error for a request without the session cookie. A JWT of a valid session is no reason to sign its
 * browser out.
 */
async function withoutSecret(context: EndpointContext): Promise<AuthError> {
  const { config, database, request } = context
  if (readCredentials(request.header, config).token === null) return new AuthError('SESSION_NOT_FOUND')
  await countStranger(context)
  try {
    // Nothing is denied yet, so `onEvent` is left out.
    await authenticate(request, 'token', {
      config: { ...config, onEvent: undefined },
      sessions: database.sessions,
    })
    return new AuthError('TOKEN_MISSING')
  } catch (error) {
    if (!isAuthError(error)) throw error
    return error.status === 401 ? new AuthError('SESSION_NOT_FOUND', { cause: error }) : error
  }
}

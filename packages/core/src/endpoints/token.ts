import { emit } from '../events/emit.ts'
import { prepareTokens, type TokenResult } from '../lifecycle/prepare-tokens.ts'
import { refreshSession } from '../lifecycle/refresh-session.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { AuthError, isAuthError, isUnavailable } from '../protocol/errors.ts'
import { ENDPOINTS, type TokenResponse } from '../protocol.ts'
import { memoryLimits } from '../rate-limit/memory-limits.ts'
import { rateLimited } from '../rate-limit/rate-limited.ts'
import { readCredentials, type SessionCookie } from '../request/credentials.ts'
import { isPrefetch } from '../request/prefetch.ts'
import { authenticate } from '../session/authenticate.ts'
import { withoutReports } from '../session/report-denial.ts'
import { limitAddress } from './attempts.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from './endpoint.ts'
import { anyQuery, tokens } from './plain-schemas.ts'

/** Refreshes per session. */
const REFRESHES = { points: 300, duration: 60 }

/** In memory: a refresh that changes nothing must not need a writable database. */
const refreshes = memoryLimits()

/** Requests without a valid secret, per network. */
const REJECTIONS = { points: 300, duration: 60 }

/** Requests with a superseded secret, per session and network. */
const SUPERSEDED = { points: 30, duration: 60 }

/**
 * Issues a new JWT for a valid session (spec section 4). Only this endpoint extends a session. It needs only
 * the session cookie, because the JWT may have expired. Rejects a prefetch: the user may never open the page.
 */
export const token: Endpoint<object, TokenResponse, true> = defineEndpoint({
  ...ENDPOINTS.token,
  origin: 'token',
  caller: 'anyone',
  setsCookies: true,
  input: anyQuery,
  output: tokens,
  async run(_input, context) {
    const { request, sessionCookie, config } = context
    if (isPrefetch(request.header)) throw reject('PREFETCH_REJECTED')
    if (sessionCookie === null) throw await withoutSecret(context)
    const work = () => refreshTokens(sessionCookie, context)
    return config.telemetry === undefined ? work() : config.telemetry.trace({ name: 'refresh' }, work)
  },
})

async function refreshTokens(sessionCookie: SessionCookie, context: EndpointContext): Promise<TokenResult> {
  const { config, database } = context
  const refresh = await refreshSession(sessionCookie, { database, config }).catch(async (error: unknown) => {
    await countRejection(error, sessionCookie.sessionId, context)
    throw error
  })
  const retryAfterSeconds = await refreshes.consume(refresh.session.id, REFRESHES)
  if (retryAfterSeconds !== null) throw rateLimited('refresh', retryAfterSeconds, config)
  const issue = await prepareTokens(refresh.session, context)
  const session = await refresh.advance()
  const { userId, id: sessionId, renewed } = session
  // The transaction of a renewal has already recorded it.
  if (!renewed)
    emit({ type: 'session.refreshed', at: config.now(), userId, sessionId, renewed }, database.onEvent)
  return issue(session)
}

/** Limits guessed and superseded secrets. @throws AuthError `RATE_LIMITED` */
async function countRejection(error: unknown, sessionId: string, context: EndpointContext): Promise<void> {
  if (!isAuthError(error) || isUnavailable(error)) return
  if (error.reason === 'SECRET_SUPERSEDED') await limitAddress(context, `superseded:${sessionId}`, SUPERSEDED)
  else if (error.status === 401) await limitAddress(context, 'token:rejected', REJECTIONS)
}

/** Returns the error for a request without the session cookie. With a valid JWT, the user stays signed in. */
async function withoutSecret(context: EndpointContext): Promise<AuthError> {
  const { config, database, request } = context
  if (readCredentials(request.header, config).token === null) return new AuthError('SESSION_NOT_FOUND')
  await limitAddress(context, 'token:rejected', REJECTIONS)
  try {
    // Nothing is denied yet.
    await authenticate(request, 'token', {
      config: withoutReports(config),
      sessions: database.sessions,
    })
    return new AuthError('TOKEN_MISSING')
  } catch (error) {
    if (!isAuthError(error)) throw error
    return error.status === 401 ? new AuthError('SESSION_NOT_FOUND', { cause: error }) : error
  }
}

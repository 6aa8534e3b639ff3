import type { TokenResponse } from '@sallyport/core'
import { AuthError, checkOrigin, isAuthError, sessionsOf, validateSession } from '@sallyport/core'
import { issueJwt, setCookie } from '@sallyport/core/auth'
import { authConfig } from './auth.config.ts'
import { currentSession } from './current-session.ts'
import { db } from './database.ts'
import { signingKeys } from './signing-keys.ts'

/** `GET /api/auth/backend/token`: a JWT for the session that the old cookie names. */
export async function answerToken(request: Request): Promise<Response> {
  const headers = new Headers({ 'cache-control': 'no-store' })
  try {
    const header = (name: string) => request.headers.get(name)
    checkOrigin({ method: request.method, header }, 'token', authConfig)
    const found = await currentSession(request.headers)
    if (found === null) throw new AuthError('SESSION_NOT_FOUND')
    const { issuer } = authConfig
    const proved = { sessionId: found.id, userId: found.userId, version: 1, issuer }
    const { id, userId, expiresAt } = await validateSession(proved, sessionsOf(db), authConfig)
    const jwt = await issueJwt({ id, userId, expiresAt }, { key: signingKeys.active, config: authConfig })
    const { cookies } = authConfig
    const maxAgeSeconds = jwt.expiresInSeconds
    headers.set('set-cookie', setCookie(cookies.jwt, jwt.token, { maxAgeSeconds, ...cookies }))
    const body: TokenResponse = {
      userId,
      sessionId: id,
      expiresIn: jwt.expiresInSeconds,
      expiresAt: jwt.expiresAt.toISOString(),
    }
    return Response.json(body, { headers })
  } catch (error) {
    // An outage must not sign anyone out.
    const { status, reason, message } = isAuthError(error) ? error : new AuthError('SESSIONS_UNAVAILABLE')
    return Response.json({ code: reason, message }, { status, headers })
  }
}

import { setCookie } from '../cookie.ts'
import { issueJwt } from '../jwt/issue-jwt.ts'
import type { TokenResponse } from '../protocol.ts'
import { createSession } from '../session/lifecycle.ts'
import type { EndpointContext, EndpointResult } from './endpoint.ts'

/** Answers with a new JWT for a session, in the cookie and, where bearer transport is enabled, in the body. */
export async function issueTokens(
  session: { id: string; userId: string; expiresAt: Date },
  { config, signingKeys, definePayload }: EndpointContext,
): Promise<Required<EndpointResult>> {
  const payload = await definePayload({ userId: session.userId, sessionId: session.id })
  const jwt = await issueJwt(session, { key: signingKeys.active, config, payload })
  const body: TokenResponse = {
    expiresIn: jwt.expiresInSeconds,
    expiresAt: jwt.expiresAt.toISOString(),
    userId: session.userId,
    sessionId: session.id,
    ...(config.bearer && { token: jwt.token }),
  }
  const maxAgeSeconds = jwt.expiresInSeconds
  return {
    body,
    cookies: [setCookie(config.cookies.jwt, jwt.token, { maxAgeSeconds, secure: config.secure })],
  }
}

/** Begins a session for a user who has just proved who they are, and answers with both cookies. */
export async function beginSession(userId: string, context: EndpointContext): Promise<EndpointResult> {
  const { config, database, request } = context
  const session = await createSession(database, {
    userId,
    userAgent: request.header('user-agent'),
    lifetimeSeconds: config.sessionLifetimeSeconds,
    now: config.now(),
  })
  const { body, cookies } = await issueTokens(session, context)
  const sessionCookie = setCookie(config.cookies.session, session.cookie, {
    maxAgeSeconds: config.sessionLifetimeSeconds,
    secure: config.secure,
  })
  return { body, cookies: [...cookies, sessionCookie] }
}

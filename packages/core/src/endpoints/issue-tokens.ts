import type { AuthConfig } from '../config.ts'
import { issueJwt } from '../jwt/issue-jwt.ts'
import { createSession, type NewSessionOptions } from '../lifecycle/create-session.ts'
import type { TokenResponse } from '../protocol.ts'
import { setCookie } from '../request/cookie.ts'
import type { EndpointContext, EndpointResult } from './endpoint.ts'

/** A session whose browser is to be answered. */
interface AnswerableSession {
  readonly id: string
  readonly userId: string
  readonly expiresAt: Date
  /** The version that the JWT carries. */
  readonly version: number
  /** If false, the cookies expire with the browser session. */
  readonly remembered: boolean
  /** The value of the session cookie; null where the browser keeps what it has. */
  readonly cookie: string | null
}

/**
 * Collects what a JWT of this session needs, and returns what answers with it: a new JWT in the cookie, and the session cookie where it is
 * new; for whoever sends the session header both in the body, as `token` and `sessionToken`.
 *
 * @throws AuthError `KEYS_UNAVAILABLE`, or what `definePayload` throws
 */
export async function prepareTokens(
  session: { id: string; userId: string },
  { config, signingKeys, definePayload, sessionTransport }: EndpointContext,
): Promise<(session: AnswerableSession) => Promise<Required<EndpointResult<TokenResponse>>>> {
  const payload = await definePayload({ userId: session.userId, sessionId: session.id })
  const key = signingKeys.active
  // Once for trial: a payload that no JWT can carry has to fail before anything has changed.
  await issueJwt({ ...session, expiresAt: config.now() }, { key, config, payload })
  return async (answered) => {
    const now = config.now()
    const jwt = await issueJwt(answered, { key, config, payload, now })
    const { remembered, cookie } = answered
    const body: TokenResponse = {
      expiresIn: jwt.expiresInSeconds,
      expiresAt: jwt.expiresAt.toISOString(),
      userId: answered.userId,
      sessionId: answered.id,
      // Never to a page with cookies, whose scripts would read it.
      ...(sessionTransport === 'header' && { token: jwt.token }),
      ...(sessionTransport === 'header' && cookie !== null && { sessionToken: cookie }),
    }
    const { cookies: names, secure } = config
    const maxAgeSeconds = remembered ? jwt.expiresInSeconds : null
    const jwtCookie = setCookie(names.jwt, jwt.token, { maxAgeSeconds, secure })
    return {
      body,
      cookies: cookie === null ? [jwtCookie] : [jwtCookie, setSessionCookie({ ...answered, cookie }, config)],
    }
  }
}

/** `Set-Cookie` for the secret of a session: it lives as long as the session, or ends with the browser. */
function setSessionCookie(
  { cookie, expiresAt, remembered }: { cookie: string; expiresAt: Date; remembered: boolean },
  { cookies, secure, now }: AuthConfig,
): string {
  const seconds = Math.max(0, Math.floor((expiresAt.getTime() - now().getTime()) / 1000))
  return setCookie(cookies.session, cookie, { maxAgeSeconds: remembered ? seconds : null, secure })
}

/** Begins a session for a user who has just proved who they are, and answers with both cookies. */
export async function beginSession(
  userId: string,
  context: EndpointContext,
  {
    rememberMe,
    admit,
    knownDevice = null,
  }: Pick<NewSessionOptions, 'admit' | 'knownDevice'> & { rememberMe?: boolean | undefined } = {},
): Promise<Required<EndpointResult<TokenResponse>>> {
  const id = crypto.randomUUID()
  // Whatever may fail comes before the session, of which the browser would never hear.
  const issue = await prepareTokens({ id, userId }, context)
  const session = await createSession(context.database, {
    id,
    userId,
    config: context.config,
    address: context.address,
    userAgent: context.request.header('user-agent'),
    replaces: context.sessionCookie,
    knownDevice,
    ...(rememberMe !== undefined && { rememberMe }),
    ...(admit !== undefined && { admit }),
  })
  return issue(session)
}

import type { AuthConfig } from '../config.ts'
import { type DefinePayload, issueJwt, type JwtSession } from '../jwt/issue-jwt.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { TokenResponse } from '../protocol.ts'
import { setCookie } from '../request/cookie.ts'
import type { RefreshedSession } from './refresh-session.ts'

export interface TokenResult {
  readonly body: TokenResponse
  readonly cookies: readonly string[]
}

interface TokenContext {
  readonly config: AuthConfig
  readonly signingKeys: SigningKeys
  readonly definePayload: DefinePayload
  /** With `header`, the tokens are in the body. */
  readonly sessionTransport: 'cookie' | 'header'
}

type IssuedSession = Omit<RefreshedSession, 'renewed'> & Pick<JwtSession, 'cookieHash'>

/** The largest integer of PostgreSQL's column. */
const MAX_VERSION = 2 ** 31 - 1

/**
 * Prepares the tokens of a session. What can fail, fails here, before the session changes. The returned
 * function responds with them. @throws AuthError `KEYS_UNAVAILABLE`, or the error of `definePayload`
 */
export async function prepareTokens(
  session: { id: string; userId: string },
  { config, signingKeys, definePayload, sessionTransport }: TokenContext,
): Promise<(session: IssuedSession) => Promise<TokenResult>> {
  const payload = await definePayload({ userId: session.userId, sessionId: session.id })
  const key = signingKeys.active
  // A trial run: fails if the payload is too large for a JWT.
  await issueJwt({ ...session, expiresAt: config.now(), version: MAX_VERSION }, { key, config, payload })
  return async ({ remembered, cookie, ...issued }) => {
    const now = config.now()
    const jwt = await issueJwt(issued, { key, config, payload, now })
    const body: TokenResponse = {
      expiresIn: jwt.expiresInSeconds,
      expiresAt: jwt.expiresAt.toISOString(),
      userId: issued.userId,
      sessionId: issued.id,
      // Never with cookies: scripts of the page could read them.
      ...(sessionTransport === 'header' && { token: jwt.token }),
      ...(sessionTransport === 'header' && cookie !== null && { sessionToken: cookie }),
    }
    const { cookies: names } = config
    const toCookie = (name: string, value: string, seconds: number) =>
      setCookie(name, value, { maxAgeSeconds: remembered ? seconds : null, ...names })
    const cookies = [toCookie(names.jwt, jwt.token, jwt.expiresInSeconds)]
    if (cookie !== null) {
      const seconds = Math.floor((issued.expiresAt.getTime() - now.getTime()) / 1000)
      cookies.push(toCookie(names.session, cookie, Math.max(0, seconds)))
    }
    return { body, cookies }
  }
}

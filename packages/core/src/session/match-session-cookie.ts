import type { AuthConfig } from '../config.ts'
import type { Identity } from '../jwt/identity.ts'
import type { Credentials } from '../request/credentials.ts'
import { hashText } from './hash-text.ts'

/**
 * Returns whether a JWT belongs to the session cookie beside it. Our own cookie names the session, and may be
 * absent. With another library's cookie, the JWT must carry its hash: a browser that has lost the cookie, or
 * has a different one since, must not continue with the JWT. Such a JWT is never a bearer token.
 */
export function matchSessionCookie(
  { sessionId, cookieHash }: Pick<Identity, 'sessionId' | 'cookieHash'>,
  { transport, sessionCookie }: Pick<Credentials, 'transport' | 'sessionCookie'>,
  config: AuthConfig,
): boolean | Promise<boolean> {
  if (transport === 'bearer' && sessionCookie === null) return cookieHash === undefined
  if (config.sessionCookie === undefined && cookieHash === undefined)
    return sessionCookie === null || sessionCookie.sessionId === sessionId
  if (sessionCookie === null) return false
  return hashText(sessionCookie.secret).then((hash) => hash === cookieHash)
}

import type { AuthConfig } from '../config.ts'
import { NO_SESSION, SESSION_HEADER } from '../protocol.ts'
import { readCookie } from './cookie.ts'
import { readForeignCookie } from './foreign-cookie.ts'

/** Returns a request header by its lowercase name; null if it was not sent. */
export type HeaderReader = (name: string) => string | null

export interface Credentials {
  /** Browsers send cookies automatically, so the origin is checked. Bearer tokens are sent on purpose. */
  readonly transport: 'cookie' | 'bearer'
  readonly token: string | null
  /** The session cookie, or the header that replaces it. */
  readonly sessionCookie: SessionCookie | null
}

/** The parts of the session cookie, `<sessionId>.<secret>`. */
export interface SessionCookie {
  /** Empty in the cookie of another library, which doesn't name the session. */
  readonly sessionId: string
  /** In the cookie of another library, its decoded value. */
  readonly secret: string
}

/**
 * Reads the credentials of a request. A bearer token or the session header, if enabled, disables the cookies.
 * @throws AuthError `COOKIE_CONFLICT` if one of our cookies was sent twice
 */
export function readCredentials(header: HeaderReader, config: AuthConfig): Credentials {
  const bearer = readBearer(header, config)
  if (config.proof !== undefined) {
    const token = config.proof.readToken({ cookie: header('cookie'), bearer })
    return { transport: bearer === null ? 'cookie' : 'bearer', token, sessionCookie: null }
  }
  if (bearer !== null && !hasSessionHeader(header, config))
    return { transport: 'bearer', token: bearer, sessionCookie: null }
  const sessionCookie = readSessionCookie(header, config)
  if (hasSessionHeader(header, config)) return { transport: 'bearer', token: bearer, sessionCookie }
  return { transport: 'cookie', token: readCookie(header('cookie'), config.cookies.jwt), sessionCookie }
}

/** Returns the token of `Authorization: Bearer`; null without it, or if bearer isn't enabled. */
export function readBearer(header: HeaderReader, { bearer }: AuthConfig): string | null {
  if (!bearer) return null
  return /^Bearer +([^ ]+)$/i.exec(header('authorization') ?? '')?.[1] ?? null
}

/** Returns whether the session header replaces the cookies of a request. */
export function hasSessionHeader(header: HeaderReader, { bearer, sessionCookie }: AuthConfig): boolean {
  return bearer && sessionCookie === undefined && header(SESSION_HEADER) !== null
}

/** Reads the session cookie, or the header that replaces it. @throws AuthError `COOKIE_CONFLICT` */
export function readSessionCookie(header: HeaderReader, config: AuthConfig): SessionCookie | null {
  if (config.sessionCookie !== undefined) {
    const secret = readForeignCookie(header('cookie'), config.sessionCookie)
    return secret === null ? null : { sessionId: '', secret }
  }
  const sent = config.bearer ? header(SESSION_HEADER) : null
  if (sent === NO_SESSION) return null
  const value = sent ?? readCookie(header('cookie'), config.cookies.session)
  if (value === null) return null
  const dot = value.indexOf('.')
  // Without a secret it still names a session, so it is rejected as unknown, not ignored as absent.
  if (dot === -1) return { sessionId: value, secret: '' }
  return { sessionId: value.slice(0, dot), secret: value.slice(dot + 1) }
}

import type { AuthConfig } from './config.ts'
import { readCookie } from './cookie.ts'

/** Reads one request header by its lower-case name; null when it was not sent. */
export type HeaderReader = (name: string) => string | null

/** What a request carries to prove who asks. */
export interface Credentials {
  /** A cookie travels by itself, so the origin must be checked; a bearer token is put there by the program that calls. */
  readonly transport: 'cookie' | 'bearer'
  /** The JWT, or null when there is none. */
  readonly token: string | null
  /** The session cookie, or null when there is none. */
  readonly sessionCookie: SessionCookie | null
}

/** The two halves of the session cookie, `<sessionId>.<secret>`. */
export interface SessionCookie {
  readonly sessionId: string
  readonly secret: string
}

/**
 * Reads the credentials of a request. With bearer transport enabled, an `Authorization: Bearer` header makes the cookies
 * count for nothing.
 *
 * @throws AuthError `COOKIE_CONFLICT` when two cookies of one of our names were sent.
 */
export function readCredentials(header: HeaderReader, config: AuthConfig): Credentials {
  const bearer = readBearer(header, config)
  if (bearer !== null) return { transport: 'bearer', token: bearer, sessionCookie: null }
  return {
    transport: 'cookie',
    token: readCookie(header('cookie'), config.cookies.jwt),
    sessionCookie: readSessionCookie(header, config),
  }
}

/** The token of an `Authorization: Bearer` header; null where there is none, or where bearer transport is not enabled. */
export function readBearer(header: HeaderReader, { bearer }: AuthConfig): string | null {
  if (!bearer) return null
  return /^Bearer +([^ ]+)$/i.exec(header('authorization') ?? '')?.[1] ?? null
}

/**
 * Reads the session cookie, which alone counts at the token endpoint and at sign-out, whatever else was sent.
 *
 * @throws AuthError `COOKIE_CONFLICT`
 */
export function readSessionCookie(header: HeaderReader, config: AuthConfig): SessionCookie | null {
  const value = readCookie(header('cookie'), config.cookies.session)
  if (value === null) return null
  const dot = value.indexOf('.')
  // Without a secret it still names a session, so that it is refused as unknown rather than passed over as absent.
  if (dot === -1) return { sessionId: value, secret: '' }
  return { sessionId: value.slice(0, dot), secret: value.slice(dot + 1) }
}

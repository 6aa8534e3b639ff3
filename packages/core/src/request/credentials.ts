import type { AuthConfig } from '../config.ts'
import { NO_SESSION, SESSION_HEADER } from '../protocol.ts'
import { readCookie } from './cookie.ts'

/** Reads one request header by its lower-case name; null when it was not sent. */
export type HeaderReader = (name: string) => string | null

/** What a request carries to prove who asks. */
export interface Credentials {
  /** A cookie travels by itself, so the origin must be checked; a bearer token is put there by the program that calls. */
  readonly transport: 'cookie' | 'bearer'
  /** The JWT, or null when there is none. */
  readonly token: string | null
  /** The session cookie, or the header that stands for it; null when there is none. */
  readonly sessionCookie: SessionCookie | null
}

/** The two halves of the session cookie, `<sessionId>.<secret>`. */
export interface SessionCookie {
  readonly sessionId: string
  readonly secret: string
}

/**
 * Reads the credentials of a request. With bearer transport enabled, an `Authorization: Bearer` header makes the cookies
 * count for nothing, and so does the session header.
 *
 * @throws AuthError `COOKIE_CONFLICT` when two cookies of one of our names were sent.
 */
export function readCredentials(header: HeaderReader, config: AuthConfig): Credentials {
  const bearer = readBearer(header, config)
  const session = readSessionHeader(header, config)
  if (session !== null) return { transport: 'bearer', token: bearer, sessionCookie: fromHeader(session) }
  if (bearer !== null) return { transport: 'bearer', token: bearer, sessionCookie: null }
  const cookies = header('cookie')
  return {
    transport: 'cookie',
    token: readCookie(cookies, config.cookies.jwt),
    sessionCookie: fromCookie(readCookie(cookies, config.cookies.session)),
  }
}

/** The token of an `Authorization: Bearer` header; null where there is none, or where bearer transport is not enabled. */
export function readBearer(header: HeaderReader, { bearer }: AuthConfig): string | null {
  if (!bearer) return null
  return /^Bearer +([^ ]+)$/i.exec(header('authorization') ?? '')?.[1] ?? null
}

/** Whether the session header stands for the cookies of a request, as it does where bearer transport is enabled. */
export function hasSessionHeader(header: HeaderReader, config: AuthConfig): boolean {
  return readSessionHeader(header, config) !== null
}

/**
 * Reads the session cookie, which alone counts at the token endpoint and at sign-out, whatever else was sent; or the header that stands for
 * it.
 *
 * @throws AuthError `COOKIE_CONFLICT`
 */
export function readSessionCookie(header: HeaderReader, config: AuthConfig): SessionCookie | null {
  const session = readSessionHeader(header, config)
  if (session !== null) return fromHeader(session)
  return fromCookie(readCookie(header('cookie'), config.cookies.session))
}

function readSessionHeader(header: HeaderReader, { bearer }: AuthConfig): string | null {
  return bearer ? header(SESSION_HEADER) : null
}

function fromHeader(value: string): SessionCookie | null {
  return value === NO_SESSION ? null : cut(value)
}

function fromCookie(value: string | null): SessionCookie | null {
  return value === null ? null : cut(value)
}

function cut(value: string): SessionCookie {
  const dot = value.indexOf('.')
  // Without a secret it still names a session, so that it is refused as unknown rather than passed over as absent.
  if (dot === -1) return { sessionId: value, secret: '' }
  return { sessionId: value.slice(0, dot), secret: value.slice(dot + 1) }
}

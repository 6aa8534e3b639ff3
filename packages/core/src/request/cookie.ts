import { stringifySetCookie } from 'cookie'
import { AuthError } from '../protocol/errors.ts'

/** Our cookies. */
export interface CookieNames {
  /** Holds the JWT: `service.jwt`. */
  readonly jwt: string
  /** Holds `<sessionId>.<secret>`: `service.session`, or `__Host-service.session` over https. */
  readonly session: string
  /** Marks a browser that has signed in before: `service.device`, or `__Host-service.device` over https. */
  readonly device: string
}

/** Returns our cookie names. `secure` adds `__Host-` to all but the JWT (RFC 6265bis section 4.1.3). */
export function cookieNames(prefix: string, secure: boolean): CookieNames {
  const bound = secure ? '__Host-' : ''
  return { jwt: `${prefix}.jwt`, session: `${bound}${prefix}.session`, device: `${bound}${prefix}.device` }
}

/**
 * Returns the value of one cookie, or null if it was not sent or is empty.
 *
 * Cookie parsers return the first of two cookies with one name, so a parent domain or another path could
 * choose which one is used. Here, a name that occurs twice is an error.
 *
 * @throws AuthError `COOKIE_CONFLICT`
 */
export function readCookie(header: string | null, name: string): string | null {
  if (header === null) return null
  let value: string | null = null
  let start = 0
  while (start < header.length) {
    let end = header.indexOf(';', start)
    if (end === -1) end = header.length
    while (isWhiteSpace(header, start)) start++
    if (header.startsWith(name, start) && header.charCodeAt(start + name.length) === EQUALS) {
      if (value !== null) throw new AuthError('COOKIE_CONFLICT')
      value = trimmed(header, start + name.length + 1, end)
    }
    start = end + 1
  }
  return value === '' ? null : value
}

/** Unlike `trim()`, keeps white space that belongs to the value (RFC 9110 section 5.6.3). */
function trimmed(header: string, from: number, to: number): string {
  let [start, end] = [from, to]
  while (start < end && isWhiteSpace(header, start)) start++
  while (end > start && isWhiteSpace(header, end - 1)) end--
  return header.slice(start, end)
}

function isWhiteSpace(header: string, at: number): boolean {
  const code = header.charCodeAt(at)
  return code === SPACE || code === TAB
}

const SPACE = 32
const TAB = 9
const EQUALS = 61

/**
 * Returns a `Set-Cookie` value with our attributes: `HttpOnly; SameSite=Lax; Path=/`, `Secure` on https, no
 * `Domain`. If `maxAgeSeconds` is null, the cookie expires with the browser session.
 */
export function setCookie(
  name: string,
  value: string,
  options: { maxAgeSeconds: number | null; secure: boolean },
): string {
  return stringifySetCookie({
    name,
    value,
    ...(options.maxAgeSeconds !== null && { maxAge: options.maxAgeSeconds }),
    path: '/',
    httpOnly: true,
    secure: options.secure,
    sameSite: 'lax',
  })
}

/** Returns the `Set-Cookie` values that delete the JWT and the session cookie. */
export function clearCookies(cookies: CookieNames, options: { secure: boolean }): string[] {
  return [clearCookie(cookies.jwt, options), clearCookie(cookies.session, options)]
}

/** Returns a `Set-Cookie` value that deletes a cookie (spec section 4). */
export function clearCookie(name: string, options: { secure: boolean }): string {
  return setCookie(name, '', { maxAgeSeconds: 0, secure: options.secure })
}

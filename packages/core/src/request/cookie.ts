import { stringifySetCookie } from 'cookie'
import { AuthError } from '../protocol/errors.ts'

/** The names of the cookies. */
export interface CookieNames {
  /** Holds the JWT: `service.jwt`. */
  readonly jwt: string
  /** Holds `<sessionId>.<secret>`: `service.session`, or `__Host-service.session` over https. */
  readonly session: string
  /** Marks a browser that has signed in before: `service.device`, or `__Host-service.device` over https. */
  readonly device: string
}

/** Cookie names for a prefix; `secure` adds `__Host-` to all but the JWT's (RFC 6265bis section 4.1.3). */
export function cookieNames(prefix: string, secure: boolean): CookieNames {
  const bound = secure ? '__Host-' : ''
  return { jwt: `${prefix}.jwt`, session: `${bound}${prefix}.session`, device: `${bound}${prefix}.device` }
}

/**
 * The value of one cookie, or null when it was not sent.
 *
 * Not a general parser, because those return the first of two cookies of one name: a parent domain or another path could
 * then choose which one counts. Two of ours are an error.
 *
 * @throws AuthError `COOKIE_CONFLICT` when the name occurs twice.
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

/** Not `trim()`: what only JavaScript calls white space, such as a no-break space, belongs to the value (RFC 9110 section 5.6.3). */
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
 * A `Set-Cookie` value with our attributes: `HttpOnly; SameSite=Lax; Path=/`, `Secure` on https, no `Domain`. Without `maxAgeSeconds` it
 * ends with the browser.
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

/** `Set-Cookie` values that delete the JWT and the session cookie: for a session that is over. */
export function clearCookies(cookies: CookieNames, options: { secure: boolean }): string[] {
  return [clearCookie(cookies.jwt, options), clearCookie(cookies.session, options)]
}

/** A `Set-Cookie` value that deletes: empty value, `Max-Age=0` (spec section 4). */
export function clearCookie(name: string, options: { secure: boolean }): string {
  return setCookie(name, '', { maxAgeSeconds: 0, secure: options.secure })
}

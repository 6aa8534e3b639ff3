import { stringifySetCookie } from 'cookie'
import { AuthError } from '../protocol/errors.ts'

export interface CookieNames {
  /** Holds the JWT: `service.jwt`. */
  readonly jwt: string
  /**
   * Holds `<sessionId>.<secret>`: `service.session`. Over https, it begins with `__Host-`, or with
   * `__Secure-` if there is a `cookieDomain`.
   */
  readonly session: string
  /** Marks a browser that has signed in before: `service.device`, with the same beginning. */
  readonly device: string
}

/** The attributes that all our cookies share. A browser deletes a cookie only if they are the same. */
export interface CookieAttributes {
  readonly secure: boolean
  /** The domain whose hosts all receive the cookies. @default the host that set them */
  readonly domain?: string | undefined
  /** With `none`, browsers keep a separate cookie for each top-level site. @default 'lax' */
  readonly sameSite?: 'lax' | 'none'
}

/**
 * Returns our cookie names. `secure` adds `__Host-` to all but the JWT (RFC 6265bis section 4.1.3), or
 * `__Secure-` if there is a `domain`, which `__Host-` forbids.
 */
export function cookieNames(prefix: string, { secure, domain }: CookieAttributes): CookieNames {
  const protectedPrefix = domain === undefined ? '__Host-' : '__Secure-'
  const bound = secure ? protectedPrefix : ''
  return { jwt: `${prefix}.jwt`, session: `${bound}${prefix}.session`, device: `${bound}${prefix}.device` }
}

/**
 * Returns the value of one cookie; null if it was not sent or is empty.
 * @param isEqual returns whether two values are the same credential. @default () => false
 * @throws AuthError `COOKIE_CONFLICT` if the name occurs twice. A cookie parser would return the first, so a
 * parent domain or another path could choose which one is used
 */
export function readCookie(
  header: string | null,
  name: string,
  isEqual: (first: string, second: string) => boolean = () => false,
): string | null {
  if (header === null) return null
  let value: string | null = null
  // Scans, because splitting takes three times as long on every request.
  for (let start = 0; start < header.length; ) {
    const next = header.indexOf(';', start)
    const end = next === -1 ? header.length : next
    while (isWhiteSpace(header[start])) start++
    if (header.startsWith(name, start) && header[start + name.length] === '=') {
      const sent = trimmed(header.slice(start + name.length + 1, end))
      if (value !== null && !isEqual(value, sent)) throw new AuthError('COOKIE_CONFLICT')
      value = sent
    }
    start = end + 1
  }
  return value === '' ? null : value
}

/** Unlike `trim()`, keeps white space that belongs to the value (RFC 9110 section 5.6.3). */
function trimmed(text: string): string {
  let [start, end] = [0, text.length]
  while (isWhiteSpace(text[start])) start++
  while (isWhiteSpace(text[end - 1])) end--
  return text.slice(start, end)
}

function isWhiteSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}

/**
 * Returns a `Set-Cookie` value with `HttpOnly; Path=/` and the attributes of the configuration. If
 * `maxAgeSeconds` is null, the cookie expires with the browser session.
 * @example setCookie(cookies.jwt, token, { maxAgeSeconds: 900, ...cookies }) // of authConfig
 */
export function setCookie(
  name: string,
  value: string,
  { maxAgeSeconds, secure, domain, sameSite = 'lax' }: CookieAttributes & { maxAgeSeconds: number | null },
): string {
  const lifetime = maxAgeSeconds !== null && { maxAge: maxAgeSeconds }
  const scope = { ...(domain !== undefined && { domain }), path: '/' }
  const partitioned = sameSite === 'none'
  return stringifySetCookie({
    name,
    value,
    ...lifetime,
    ...scope,
    httpOnly: true,
    secure,
    sameSite,
    partitioned,
  })
}

/** Returns the `Set-Cookie` values that delete the JWT and the session cookie (spec section 4). */
export function clearCookies(cookies: CookieNames & CookieAttributes): string[] {
  const clear = (name: string) => setCookie(name, '', { maxAgeSeconds: 0, ...cookies })
  return [clear(cookies.jwt), clear(cookies.session)]
}

import type { SessionCookie } from '@sallyport/core'

/** Returns the two halves of a session cookie. */
export function parseSessionCookie(value: string): SessionCookie {
  const [sessionId = '', secret = ''] = value.split('.')
  return { sessionId, secret }
}

/** Returns invalid session cookies that resemble this one, each with a description of the difference. */
export const WRONG_COOKIES: readonly [string, (cookie: SessionCookie) => SessionCookie][] = [
  ['of an unknown session', (cookie) => ({ ...cookie, sessionId: 'unknown' })],
  ['with another secret', (cookie) => ({ ...cookie, secret: 'A'.repeat(43) })],
  ['with an empty secret', (cookie) => ({ ...cookie, secret: '' })],
  ['with a truncated secret', (cookie) => ({ ...cookie, secret: cookie.secret.slice(0, -1) })],
  ['with a longer secret', (cookie) => ({ ...cookie, secret: `${cookie.secret}=` })],
]

import type { SessionCookie } from '@sallyport/core'

/** The two halves of a session cookie. */
export function parseSessionCookie(value: string): SessionCookie {
  const [sessionId = '', secret = ''] = value.split('.')
  return { sessionId, secret }
}

/** What is no session's cookie although it looks much like this one: a name, and how it differs. */
export const WRONG_COOKIES: readonly [string, (cookie: SessionCookie) => SessionCookie][] = [
  ['of an unknown session', (cookie) => ({ ...cookie, sessionId: 'unknown' })],
  ['with another secret', (cookie) => ({ ...cookie, secret: 'A'.repeat(43) })],
  ['with an empty secret', (cookie) => ({ ...cookie, secret: '' })],
  ['with a secret cut short', (cookie) => ({ ...cookie, secret: cookie.secret.slice(0, -1) })],
  ['with more after the secret', (cookie) => ({ ...cookie, secret: `${cookie.secret}=` })],
]

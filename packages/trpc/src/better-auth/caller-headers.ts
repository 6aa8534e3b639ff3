import { type AuthConfig, checkOrigin, type RequestKind } from '@sallyport/core'
import { readCredentials } from '@sallyport/core/internal/server'
import { isHeaders } from '../server/request-headers.ts'
import type { SentRequest } from '../server/sent-request.ts'
import type { BetterAuthContext } from './instance.ts'

/**
 * Returns the headers of a request for Better Auth, with only the credentials that the guards read. When its
 * API is called directly, Better Auth doesn't check the origin. If a bearer token is invalid, it uses the
 * cookies. A revoked session is still valid in the cookie cache.
 * @throws AuthError `ORIGIN_REJECTED` or `COOKIE_CONFLICT`
 */
export function callerHeaders(
  request: SentRequest,
  kind: RequestKind,
  { config, context }: { config: AuthConfig; context: BetterAuthContext },
): Headers {
  const headers = new Headers()
  // Pseudo-headers of HTTP/2 start with a colon.
  for (const [name, value] of isHeaders(request.headers) ? request.headers : Object.entries(request.headers))
    if (!name.startsWith(':')) for (const each of [value ?? []].flat()) headers.append(name, each)
  headers.delete('cookie')
  headers.delete('authorization')
  const { transport, token } = readCredentials(request.header, config)
  const cookie = request.header('cookie')
  if (transport === 'bearer') {
    // Better Auth adds the signature to a token without one.
    if (token?.includes('.')) headers.set('authorization', `Bearer ${token}`)
    return headers
  }
  // A page of another site must neither use cookies nor set them, as by a sign-in. A program may sign in.
  const isPage = request.header('origin') !== null || request.header('sec-fetch-site') !== null
  const mayChange = isPage && (request.setsHeaders || kind !== 'query')
  if (cookie !== null || mayChange) checkOrigin(request, kind, config)
  if (cookie !== null) headers.set('cookie', withoutCache(cookie, context.authCookies.sessionData.name))
  return headers
}

/** Empties the cookies of the cookie cache. Their names stay, so a sign-out deletes all of them. */
function withoutCache(cookie: string, name: string): string {
  return cookie
    .split(';')
    .map((pair) => {
      // `trim`, because Better Auth also ignores other white space around a name.
      const sent = pair.split('=', 1).join().trim()
      return sent === name || sent.startsWith(`${name}.`) ? `${sent}=` : pair
    })
    .join(';')
}

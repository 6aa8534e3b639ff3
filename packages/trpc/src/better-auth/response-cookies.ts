import type { AuthConfig } from '@sallyport/core'
import { readCredentials } from '@sallyport/core/internal/server'
import type { SentRequest } from '../server/sent-request.ts'
import type { BetterAuthSource } from './source.ts'

/** Returns the session cookie of a response, decoded: empty if it was deleted, undefined if it wasn't set. */
export function readSessionCookie(headers: Headers, source: BetterAuthSource): string | undefined {
  const start = `${source.cookieName()}=`
  // The last one wins in a browser.
  const line = headers.getSetCookie().findLast((each) => each.startsWith(start))
  return line === undefined ? undefined : decodeURIComponent(line.slice(start.length).split(';', 1).join())
}

/**
 * Adds the cookies of Better Auth's response to tRPC's. A bearer client gets the header of the bearer plugin
 * instead. A browser never gets it, because scripts could read it.
 */
export function passCookies(headers: Headers, request: SentRequest, config: AuthConfig): void {
  request.responseHeaders ??= new Headers()
  const { responseHeaders } = request
  if (readCredentials(request.header, config).transport === 'cookie') {
    for (const cookie of headers.getSetCookie()) responseHeaders.append('set-cookie', cookie)
    return
  }
  const token = headers.get(TOKEN_HEADER)
  if (token === null) return
  responseHeaders.set(TOKEN_HEADER, token)
  responseHeaders.set('access-control-expose-headers', TOKEN_HEADER)
}

/** The response header in which Better Auth's bearer plugin sends the signed token. */
export const TOKEN_HEADER = 'set-auth-token'

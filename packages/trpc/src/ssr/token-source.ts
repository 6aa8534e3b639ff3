import type { AuthConfig } from '@sallyport/core'
import { ConfigurationError } from '@sallyport/core'
import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { requireSecureUrl } from '@sallyport/core/internal/server'
import type { Page } from './page.ts'

/** `auth.handler`, or any other function that answers the requests under `/api/auth`. */
export type AuthHandler = (
  request: Request,
  options?: { readonly remoteAddress?: string | undefined },
) => Promise<Response>

/** Where JWTs come from: the handler in this process, or an auth server elsewhere. */
export type TokenSource =
  | AuthHandler
  | {
      /** What comes before `/api/auth`: https, or http on this machine. It may be reached through a proxy; no redirect is followed. */
      readonly url: string
      /** @default globalThis.fetch */
      readonly fetch?: typeof globalThis.fetch
    }

/** Sends a page's cookies to the token endpoint. */
export type AskForToken = (page: Page, signal: AbortSignal) => Promise<Response>

/** @throws ConfigurationError when the URL cannot work */
export function openTokenSource(source: TokenSource, config: AuthConfig): AskForToken {
  const path = `${AUTH_PATH}${ENDPOINTS.token.path}`
  if (typeof source === 'function') {
    const url = `${config.issuer}${path}`
    return ({ headers, address }, signal) =>
      source(new Request(url, { headers: headersFor(headers), signal }), {
        remoteAddress: address ?? undefined,
      })
  }
  const url = `${baseOf(source.url)}${path}`
  return ({ headers, address }, signal) => {
    const sent = headersFor(headers)
    // What the page request says of itself was checked; the auth server believes it where it trusts this one as a proxy.
    if (address !== null) sent['x-forwarded-for'] = address
    const request = source.fetch ?? globalThis.fetch
    // Redirects would carry the cookies elsewhere; a stored answer would be another user's.
    return request(url, { headers: sent, signal, redirect: 'manual', cache: 'no-store' })
  }
}

/** Not `Origin` and `Sec-Fetch-*`: those are about the page, and this request is made by a program. */
function headersFor(page: Headers): Record<string, string> {
  return { cookie: page.get('cookie') ?? '', [CLIENT_HEADER]: '1', accept: 'application/json' }
}

/** Over plain HTTP, an attacker could read the secret of the session. */
function baseOf(value: string): string {
  const { href, search, hash } = requireSecureUrl('token.url', value)
  if (search !== '' || hash !== '')
    throw new ConfigurationError('token.url must be what comes before /api/auth')
  return href.replace(/\/+$/, '')
}

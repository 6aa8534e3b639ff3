import type { AuthConfig, OriginRequest } from '@sallyport/core'
import { clientAddress, type ProxyTrust } from '@sallyport/core/internal/server'

/**
 * The request that a page is rendered for, or its headers if a framework shows nothing else, as Next.js does in
 * server components: such code can't set cookies either.
 */
export type PageRequest = { readonly method: string; readonly headers: Headers } | Headers

export interface PageOptions {
  /** The address of the connection, such as `socket.remoteAddress`. Passed on to the token endpoint. */
  readonly remoteAddress?: string | undefined
}

/** A page request, as both steps and the token endpoint need it. */
export interface Page extends OriginRequest {
  readonly headers: Headers
  /** The address of the client, if known. */
  readonly address: string | null
  /** Whether to request a new JWT for it. */
  readonly mayRefresh: boolean
}

export function readPage(
  request: PageRequest,
  { remoteAddress = null }: { readonly remoteAddress?: string | null | undefined },
  { config, trustsProxy }: { config: AuthConfig; trustsProxy: ProxyTrust },
): Page {
  // Not `'headers' in request`: the class behind the headers of Next.js has a member of that name.
  const isRequest = 'method' in request
  const headers = new Headers(isRequest ? request.headers : request)
  const header = (name: string) => headers.get(name)
  const method = isRequest ? request.method : 'GET'
  const isPrefetch = PREFETCH_HEADERS.some((name) => header(name)?.toLowerCase().includes('prefetch'))
  return {
    method,
    headers,
    header,
    address: clientAddress(remoteAddress, header('x-forwarded-for'), trustsProxy),
    // The user didn't request a prefetch. A rotated secret that can't reach the browser would cost it the session.
    mayRefresh: method !== 'HEAD' && !isPrefetch && (isRequest || !config.rotateSessionToken),
  }
}

const PREFETCH_HEADERS = ['sec-purpose', 'purpose', 'x-moz']

/** Whether the browser may have withheld our `SameSite=Lax` cookies, so their absence says nothing about the user. */
export function isWithoutLaxCookies({ method, header }: OriginRequest): boolean {
  return header('sec-fetch-site') === 'cross-site' && method !== 'GET' && method !== 'HEAD'
}

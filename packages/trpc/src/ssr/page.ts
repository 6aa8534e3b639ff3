import type { AuthConfig, HeaderReader, OriginRequest } from '@sallyport/core'
import { clientAddress, type ProxyTrust } from '@sallyport/core/internal/server'

/**
 * The request that a page is rendered for. Where a framework shows only its headers, as Next.js does to server components, those: such code
 * cannot set cookies either.
 */
export type PageRequest = { readonly method: string; readonly headers: Headers } | Headers

/** What does not stand in a {@link PageRequest}. */
export interface PageOptions {
  /** The address of the connection, such as `socket.remoteAddress` or what the platform says. It is passed on to the token endpoint. */
  readonly remoteAddress?: string | undefined
}

/** A page request as the two steps and the token endpoint need it. */
export interface Page extends OriginRequest {
  readonly headers: Headers
  /** The address of the client; null where nobody said. */
  readonly address: string | null
  /** Whether a JWT may be asked for on its behalf. */
  readonly mayMint: boolean
}

export function readPage(
  request: PageRequest,
  { remoteAddress = null }: { readonly remoteAddress?: string | null | undefined },
  { config, trustsProxy }: { config: AuthConfig; trustsProxy: ProxyTrust },
): Page {
  // `headers` would not do: the class behind the headers of Next.js has a member of that name.
  const isWhole = 'method' in request
  const headers = new Headers(isWhole ? request.headers : request)
  const header = (name: string) => headers.get(name)
  const method = isWhole ? request.method : 'GET'
  return {
    method,
    headers,
    header,
    address: clientAddress(remoteAddress, header('x-forwarded-for'), trustsProxy),
    // Nobody asked for what a prefetch would bring. And a new secret that cannot be given to the browser would cost it the session.
    mayMint: method !== 'HEAD' && !isPrefetch(header) && (isWhole || !config.rotateSessionToken),
  }
}

/** The same page with other headers. */
export function withHeaders(page: Page, headers: Headers): Page {
  return { ...page, headers, header: (name) => headers.get(name) }
}

function isPrefetch(header: HeaderReader): boolean {
  return ['sec-purpose', 'purpose', 'x-moz'].some((name) => header(name)?.toLowerCase().includes('prefetch'))
}

/** Browsers keep cookies of ours back from what another site posts, so that it has none says nothing about its user. */
export function isWithoutLaxCookies({ method, header }: OriginRequest): boolean {
  return header('sec-fetch-site') === 'cross-site' && method !== 'GET' && method !== 'HEAD'
}

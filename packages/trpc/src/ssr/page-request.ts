import type { AuthConfig, OriginRequest } from '@sallyport/core'
import { clientAddress, isPrefetch, type ProxyTrust } from '@sallyport/core/internal/server'

/** A request; or headers, as in server components of Next.js, which have no request and can't set cookies. */
export type PageRequest = { readonly method: string; readonly headers: Headers } | Headers

export interface PageOptions {
  /** The address of the connection, such as `socket.remoteAddress`, for the token endpoint. */
  readonly remoteAddress?: string | undefined
}

export interface Page extends OriginRequest {
  readonly headers: Headers
  readonly address: string | null
  /** Reads the configuration, which may be invalid. */
  mayRefresh(): boolean
}

export function readPage(
  request: PageRequest,
  { remoteAddress = null }: { remoteAddress?: string | null | undefined },
  { config, trustsProxy }: { config: AuthConfig; trustsProxy: ProxyTrust },
): Page {
  // Not `'headers' in request`: the class behind the headers of Next.js has a member of that name.
  const isRequest = 'method' in request
  const headers = new Headers(isRequest ? request.headers : request)
  const header = (name: string) => headers.get(name)
  const method = isRequest ? request.method : 'GET'
  return {
    method,
    headers,
    header,
    address: clientAddress(remoteAddress, header('x-forwarded-for'), trustsProxy),
    // A user doesn't request a prefetch. A rotated secret that can't reach the browser would end the session.
    mayRefresh: () => method !== 'HEAD' && !isPrefetch(header) && (isRequest || !config.rotateSessionToken),
  }
}

import type { AuthConfig } from '../config.ts'
import { AuthError } from '../protocol/errors.ts'
import { CLIENT_HEADER } from '../protocol.ts'
import type { HeaderReader } from './credentials.ts'

/** What a request does: `token` is the token endpoint, `upgrade` a WebSocket handshake. */
export type RequestKind = 'query' | 'mutation' | 'subscription' | 'token' | 'upgrade'

export interface OriginRequest {
  readonly method: string
  readonly header: HeaderReader
}

/**
 * Checks whether the site that sent a request may use its cookies, which browsers attach automatically
 * (decision 0004). @throws AuthError `ORIGIN_REJECTED`
 */
export function checkOrigin(request: OriginRequest, kind: RequestKind, config: AuthConfig): void {
  if (!isOriginAllowed(request, kind, config)) throw new AuthError('ORIGIN_REJECTED')
}

function isOriginAllowed({ method, header }: OriginRequest, kind: RequestKind, config: AuthConfig): boolean {
  const origin = header('origin')
  // Sandboxed frames and redirected requests send `null`, which could be any site.
  if (origin === 'null') return false
  const listed = origin !== null && config.allowedOrigins.has(origin)
  // A page checks whether its WebSockets are accepted: a browser doesn't say why an upgrade was rejected.
  const page = header(CLIENT_HEADER)
  if (page?.includes('://') && !config.allowedOrigins.has(page)) return false

  const site = header('sec-fetch-site')
  if (site === 'same-origin') return true
  if (site === 'none') return method === 'GET' || listed
  if (site === 'same-site' || site === 'cross-site')
    return listed || (kind === 'query' && isTopLevelNavigation({ method, header }, config))
  if (site !== null) return false

  if (origin !== null) return listed
  // Neither header: a program, or a browser too old to send them. Such a browser can't add our header.
  if (kind === 'query') return true
  return kind !== 'upgrade' && header(CLIENT_HEADER) === '1'
}

/**
 * A link followed from another site: the page may be rendered for its user, but nothing may be changed. If a
 * service worker forwards the navigation, its destination is `empty`, also in a frame. `Lax` cookies aren't
 * sent from a frame.
 */
function isTopLevelNavigation({ method, header }: OriginRequest, { cookies }: AuthConfig): boolean {
  const to = header('sec-fetch-dest')
  const isPage = to === 'document' || (to === 'empty' && cookies.sameSite !== 'none')
  return isPage && method === 'GET' && header('sec-fetch-mode') === 'navigate'
}

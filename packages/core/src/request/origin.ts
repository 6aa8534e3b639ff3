import type { AuthConfig } from '../config.ts'
import { AuthError } from '../protocol/errors.ts'
import { CLIENT_HEADER } from '../protocol.ts'
import type { HeaderReader } from './credentials.ts'

/** What a request is about to do; `token` is the token endpoint, `upgrade` a WebSocket handshake. */
export type RequestKind = 'query' | 'mutation' | 'subscription' | 'token' | 'upgrade'

/** The parts of a request that the origin policy looks at. */
export interface OriginRequest {
  readonly method: string
  readonly header: HeaderReader
}

/**
 * May the site that sent this request use the cookies it carries? Browsers attach cookies by themselves, so every
 * request that carries one is checked, and sign-in with or without one (design decision 12).
 *
 * @throws AuthError `ORIGIN_REJECTED`
 */
export function checkOrigin(request: OriginRequest, kind: RequestKind, config: AuthConfig): void {
  if (!isOriginAllowed(request, kind, config)) throw new AuthError('ORIGIN_REJECTED')
}

function isOriginAllowed({ method, header }: OriginRequest, kind: RequestKind, config: AuthConfig): boolean {
  const origin = header('origin')
  // Sandboxed frames and redirected requests say `null`: it names nobody.
  if (origin === 'null') return false
  const listed = origin !== null && config.allowedOrigins.has(origin)
  // A page asks whether its WebSockets are accepted: a browser doesn't say why an upgrade was rejected.
  const page = header(CLIENT_HEADER)
  if (page?.includes('://') && !config.allowedOrigins.has(page)) return false

  switch (header('sec-fetch-site')) {
    case 'same-origin':
      return true
    case 'none':
      return method === 'GET' || listed
    case 'same-site':
    case 'cross-site':
      return listed || (kind === 'query' && isTopLevelNavigation(method, header))
    case null:
      break
    default:
      return false
  }

  if (origin !== null) return listed
  // Neither header: not a browser, or one too old to protect its user. Only the latter cannot add a header of its own.
  if (kind === 'query') return true
  return kind !== 'upgrade' && header(CLIENT_HEADER) === '1'
}

/** A link followed from another site: the page may be rendered for its user, but nothing may be changed. */
function isTopLevelNavigation(method: string, header: HeaderReader): boolean {
  return (
    method === 'GET' && header('sec-fetch-mode') === 'navigate' && header('sec-fetch-dest') === 'document'
  )
}

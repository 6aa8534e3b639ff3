import type { AuthConfig } from '../config.ts'
import { reportFailure } from '../events/report-failure.ts'
import { CLIENT_HEADER, SESSION_HEADER } from '../protocol.ts'

/** The headers that our client package and tRPC send. */
const SENT_HEADERS = [
  'content-type',
  'authorization',
  'trpc-accept',
  'last-event-id',
  CLIENT_HEADER,
  SESSION_HEADER,
]

/** Returns CORS headers with credentials for an allowed origin, never `*`. Other origins get only `vary`. */
export function corsHeaders(origin: string | null, config: AuthConfig): Record<string, string> {
  if (origin === null || !config.allowedOrigins.has(origin)) return { vary: 'Origin' }
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': ['retry-after', ...config.exposedHeaders].join(', '),
  }
}

/**
 * Lets pages of `allowedOrigins` call the tRPC route: responds to preflights, and adds the CORS headers to
 * the response of `respond` for any other request. To allow or expose other headers, such as those of
 * tracing, list them in the configuration. Responds with 500 if the configuration is invalid.
 * @example
 * app.all('/trpc/*', ({ req }) => withCors(req.raw, authConfig, () => fetchRequestHandler(options(req.raw))))
 */
export async function withCors(
  request: Request,
  config: AuthConfig,
  respond: () => Response | Promise<Response>,
): Promise<Response> {
  let headers: Record<string, string>
  try {
    const preflight = respondToPreflight(request, config)
    if (preflight !== null) return preflight
    headers = corsHeaders(request.headers.get('origin'), config)
  } catch (error) {
    // A configuration that is read later may be invalid.
    reportFailure(error, { path: null, step: 'endpoint' }, config)
    return new Response('Internal Server Error', { status: 500, headers: { 'cache-control': 'no-store' } })
  }
  const response = await respond()
  for (const [name, value] of Object.entries(headers)) response.headers.append(name, value)
  return response
}

/** Responds to a CORS preflight, with 403 for an unlisted origin. Returns null for any other request. */
export function respondToPreflight(request: Request, config: AuthConfig): Response | null {
  if (request.method !== 'OPTIONS' || !request.headers.has('access-control-request-method')) return null
  const headers = corsHeaders(request.headers.get('origin'), config)
  if (!('access-control-allow-origin' in headers)) return new Response(null, { status: 403, headers })
  return new Response(null, {
    status: 204,
    headers: {
      ...headers,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': [...SENT_HEADERS, ...config.allowedHeaders].join(', '),
      'access-control-max-age': '600',
    },
  })
}

import type { AuthConfig } from '../config.ts'
import { CLIENT_HEADER, SESSION_HEADER } from '../protocol.ts'

/**
 * The CORS headers of an answer: the listed origin with credentials, never `*`. Empty for any other origin. `vary` is
 * always there, so that no cache hands one origin's answer to another.
 */
export function corsHeaders(origin: string | null, config: AuthConfig): Record<string, string> {
  if (origin === null || !config.allowedOrigins.has(origin)) return { vary: 'Origin' }
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'retry-after',
  }
}

/**
 * Answers a request to the tRPC route in a way that pages of `allowedOrigins` can read: preflights at once, anything else through
 * `answer`, with the CORS headers added.
 *
 * @example app.all('/trpc/*', (c) => withCors(c.req.raw, authConfig, () => fetchRequestHandler(options(c.req.raw))))
 */
export async function withCors(
  request: Request,
  config: AuthConfig,
  answer: () => Response | Promise<Response>,
): Promise<Response> {
  const preflight = answerPreflight(request, config)
  if (preflight !== null) return preflight
  const response = await answer()
  for (const [name, value] of Object.entries(corsHeaders(request.headers.get('origin'), config))) {
    response.headers.append(name, value)
  }
  return response
}

/**
 * Answers a CORS preflight for `/api/auth` or the tRPC route, or returns null when the request is none. An origin that
 * is not listed gets 403 and no CORS header.
 */
export function answerPreflight(request: Request, config: AuthConfig): Response | null {
  if (request.method !== 'OPTIONS' || !request.headers.has('access-control-request-method')) return null
  const origin = request.headers.get('origin')
  const headers = corsHeaders(origin, config)
  if (!('access-control-allow-origin' in headers)) return new Response(null, { status: 403, headers })
  return new Response(null, {
    status: 204,
    headers: {
      ...headers,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': `content-type, authorization, trpc-accept, last-event-id, ${CLIENT_HEADER}, ${SESSION_HEADER}`,
      'access-control-max-age': '600',
    },
  })
}

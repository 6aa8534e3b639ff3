import type { AuthConfig } from '../config.ts'
import { ENDPOINT_ERRORS, isEndpointError, reject } from '../protocol/endpoint-error.ts'
import { isAuthError } from '../protocol/errors.ts'
import { AUTH_PATH, ENDPOINTS, type ErrorResponse, isSessionOver } from '../protocol.ts'
import { clearCookies } from '../request/cookie.ts'
import { corsHeaders, respondToPreflight } from '../request/cors.ts'
import { hasSessionHeader } from '../request/credentials.ts'
import { toEndpointRequest } from './api.ts'
import { callEndpoint, type EndpointServer } from './call-endpoint.ts'
import type { Endpoints } from './definition.ts'
import type { Endpoint, EndpointResult } from './endpoint.ts'
import { readBody } from './read-body.ts'
import { readQuery } from './read-query.ts'

/** What the server knows of a request that does not stand in it. */
export interface RequestOptions {
  /**
   * The address of the connection, such as `socket.remoteAddress` or what the platform says. Rate limits count by it; all requests without one
   * are counted together.
   */
  readonly remoteAddress?: string | undefined
}

/** Serves endpoints under `/api/auth`. Never rejects: every failure becomes a response. */
export function createHandler(
  endpoints: Endpoints,
  server: EndpointServer,
): (request: Request, options?: RequestOptions) => Promise<Response> {
  const { config } = server.definition
  const endpointsByPath = new Map(
    Object.values(endpoints).map((endpoint) => [`${AUTH_PATH}${endpoint.path}`, endpoint]),
  )

  return async function handle(request, { remoteAddress } = {}) {
    const endpoint = endpointsByPath.get(new URL(request.url).pathname)
    try {
      if (endpoint === undefined) throw reject('NOT_FOUND')
      const preflight = respondToPreflight(request, config)
      if (preflight !== null) return withCommonHeaders(preflight)
      if (request.method !== endpoint.method) throw reject('METHOD_NOT_ALLOWED')
      const endpointRequest = toEndpointRequest({ request, remoteAddress }, server)
      const readInput = () => (endpoint.method === 'GET' ? readQuery(request) : readBody(request))
      return answer(await callEndpoint(endpoint, endpointRequest, readInput, server), request, config)
    } catch (error) {
      const refusal = toErrorResponse(error)
      if (refusal.status === 500) server.onError(error)
      return answerRefusal(refusal, { request, endpoint, config })
    }
  }
}

function answer({ body, cookies = [] }: EndpointResult, request: Request, config: AuthConfig): Response {
  const response = json(body, 200, { request, config })
  for (const cookie of cookies) response.headers.append('set-cookie', cookie)
  return response
}

function answerRefusal(
  { status, ...body }: ErrorResponse & { status: number },
  { request, endpoint, config }: { request: Request; endpoint: Endpoint | undefined; config: AuthConfig },
): Response {
  const response = json(body, status, { request, config })
  if (endpoint !== undefined && status === 405) response.headers.set('allow', `${endpoint.method}, OPTIONS`)
  if (body.retryAfterSeconds !== undefined)
    response.headers.set('retry-after', String(body.retryAfterSeconds))
  // The one refusal that is definite about the session itself; any other leaves the cookies as they are.
  const isOver = endpoint?.path === ENDPOINTS.token.path && isSessionOver(body.code) && status === 401
  // Unless the session header stood for them: then they are of another session.
  if (isOver && !hasSessionHeader((name) => request.headers.get(name), config)) {
    for (const cookie of clearCookies(config.cookies, config)) response.headers.append('set-cookie', cookie)
  }
  return response
}

function toErrorResponse(error: unknown): ErrorResponse & { status: number } {
  if (isAuthError(error)) {
    const { status, reason, message, retryAfterSeconds } = error
    return { status, code: reason, message, ...(retryAfterSeconds !== null && { retryAfterSeconds }) }
  }
  if (isEndpointError(error)) {
    const { status, code, message, fields } = error
    return { status, code, message, ...(fields.length > 0 && { fields }) }
  }
  return { code: 'INTERNAL_ERROR', ...ENDPOINT_ERRORS.INTERNAL_ERROR }
}

function json(
  body: object,
  status: number,
  { request, config }: { request: Request; config: AuthConfig },
): Response {
  const headers = corsHeaders(request.headers.get('origin'), config)
  return withCommonHeaders(Response.json(body, { status, headers }))
}

/** No cache may keep an answer, nor hand it to anyone else; no browser may take it for a page. */
function withCommonHeaders(response: Response): Response {
  response.headers.append('vary', 'Cookie')
  response.headers.set('cache-control', 'no-store')
  response.headers.set('x-content-type-options', 'nosniff')
  return response
}

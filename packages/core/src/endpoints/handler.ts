import type { AuthConfig } from '../config.ts'
import { clearCookie } from '../cookie.ts'
import { answerPreflight, corsHeaders } from '../cors.ts'
import { readSessionCookie } from '../credentials.ts'
import type { AuthDefinition } from '../definition.ts'
import { isAuthError } from '../errors.ts'
import { checkOrigin } from '../origin.ts'
import { AUTH_PATH, ENDPOINT_PATHS, type ErrorResponse } from '../protocol.ts'
import type { SessionDatabase } from '../session/lifecycle.ts'
import type { Endpoint, EndpointResult } from './endpoint.ts'
import { ENDPOINT_ERRORS, EndpointError } from './endpoint-error.ts'
import { readBody } from './read-body.ts'

/** Serves endpoints under `/api/auth`. Never rejects: every failure becomes a response. */
export function createHandler(
  endpoints: readonly Endpoint[],
  definition: AuthDefinition,
  options: { database: SessionDatabase; onError: (error: unknown) => void },
): (request: Request) => Promise<Response> {
  const { config, signingKeys, definePayload } = definition
  const endpointsByPath = new Map(endpoints.map((endpoint) => [`${AUTH_PATH}${endpoint.path}`, endpoint]))

  return async function handle(request) {
    const endpoint = endpointsByPath.get(new URL(request.url).pathname)
    try {
      if (endpoint === undefined) throw new EndpointError('NOT_FOUND')
      const preflight = answerPreflight(request, config)
      if (preflight !== null) return preflight
      if (request.method !== endpoint.method) throw new EndpointError('METHOD_NOT_ALLOWED')
      return answer(await run(endpoint, request), request, config)
    } catch (error) {
      const refusal = toErrorResponse(error)
      if (refusal.status === 500) options.onError(error)
      return refuse(refusal, { request, endpoint, config })
    }
  }

  async function run(endpoint: Endpoint, request: Request): Promise<EndpointResult> {
    const header = (name: string) => request.headers.get(name)
    const origin = { method: request.method, header }
    if (endpoint.origin !== null) checkOrigin(origin, endpoint.origin, config)
    // What is the same for everyone has no use for it, so that two of them are no matter there.
    const sessionCookie = endpoint.origin === null ? null : readSessionCookie(header, config)
    const body = await readBody(request)
    return endpoint.run(body, {
      config,
      signingKeys,
      definePayload,
      sessionCookie,
      database: options.database,
      request: origin,
    })
  }
}

function answer({ body, cookies = [] }: EndpointResult, request: Request, config: AuthConfig): Response {
  const response = Response.json(body, { headers: commonHeaders(request, config) })
  for (const cookie of cookies) response.headers.append('set-cookie', cookie)
  return response
}

function refuse(
  { status, ...body }: ErrorResponse & { status: number },
  { request, endpoint, config }: { request: Request; endpoint: Endpoint | undefined; config: AuthConfig },
): Response {
  const response = Response.json(body, { status, headers: commonHeaders(request, config) })
  if (endpoint !== undefined && status === 405) response.headers.set('allow', `${endpoint.method}, OPTIONS`)
  if (body.retryAfterSeconds !== undefined)
    response.headers.set('retry-after', String(body.retryAfterSeconds))
  // The one refusal that is definite about the session itself; any other leaves the cookies as they are.
  if (endpoint?.path === ENDPOINT_PATHS.token && body.code.startsWith('SESSION_') && status === 401) {
    response.headers.append('set-cookie', clearCookie(config.cookies.jwt, config))
    response.headers.append('set-cookie', clearCookie(config.cookies.session, config))
  }
  return response
}

function toErrorResponse(error: unknown): ErrorResponse & { status: number } {
  if (isAuthError(error)) {
    const { status, reason, message, retryAfterSeconds } = error
    return { status, code: reason, message, ...(retryAfterSeconds !== null && { retryAfterSeconds }) }
  }
  if (error instanceof EndpointError) {
    return {
      code: error.code,
      ...ENDPOINT_ERRORS[error.code],
      ...(error.fields.length > 0 && { fields: error.fields }),
    }
  }
  return { code: 'INTERNAL_ERROR', ...ENDPOINT_ERRORS.INTERNAL_ERROR }
}

function commonHeaders(request: Request, config: AuthConfig): Headers {
  const headers = new Headers(corsHeaders(request.headers.get('origin'), config))
  headers.append('vary', 'Cookie')
  headers.set('cache-control', 'no-store')
  return headers
}

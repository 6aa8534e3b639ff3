import type { AuthConfig } from '../config.ts'
import { reportFailure } from '../events/report-failure.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { BodyTooLargeError, readLimited } from '../protocol/read-limited.ts'
import { toErrorResponse, withCommonHeaders } from '../protocol/responses.ts'
import { AUTH_PATH, ENDPOINTS, type ErrorResponse, isSessionOver, MAX_PAYLOAD_BYTES } from '../protocol.ts'
import { clearCookies } from '../request/cookie.ts'
import { corsHeaders, respondToPreflight } from '../request/cors.ts'
import { hasSessionHeader } from '../request/credentials.ts'
import { type ApiOptions, toEndpointRequest } from './api.ts'
import { callEndpoint } from './call-endpoint.ts'
import type { EndpointServer } from './create-context.ts'
import type { Endpoints } from './definition.ts'
import type { Endpoint, EndpointResult } from './endpoint.ts'
import { traceEndpoint } from './trace-endpoint.ts'

export type RequestOptions = Pick<ApiOptions, 'remoteAddress'>

/**
 * Serves endpoints under `/api/auth`. Never rejects: every failure becomes a response.
 * @param options.connect opens the database if necessary
 */
export function createHandler(
  endpoints: Endpoints,
  { config, connect }: { config: AuthConfig; connect: () => Promise<EndpointServer> },
): (request: Request, options?: RequestOptions) => Promise<Response> {
  const byPath = new Map(Object.values(endpoints).map((endpoint) => [AUTH_PATH + endpoint.path, endpoint]))
  async function serve(
    request: Request,
    endpoint: Endpoint | undefined,
    { remoteAddress }: RequestOptions,
  ): Promise<Response> {
    if (endpoint === undefined) throw reject('NOT_FOUND')
    const preflight = respondToPreflight(request, config)
    if (preflight !== null) return withCommonHeaders(preflight)
    if (request.method !== endpoint.method) throw reject('METHOD_NOT_ALLOWED')
    const server = await connect()
    const endpointRequest = toEndpointRequest({ request, remoteAddress }, server)
    const result = await callEndpoint(endpoint, endpointRequest, () => readInput(request, endpoint), server)
    return respond(request, config, { status: 200, ...result })
  }
  async function handle(request: Request, options: RequestOptions): Promise<Response> {
    const endpoint = byPath.get(new URL(request.url).pathname)
    try {
      const scheme = config.secure ? 'https' : 'http'
      const place = { method: request.method, path: endpoint?.path ?? null, scheme } as const
      return await traceEndpoint(place, config, () => serve(request, endpoint, options))
    } catch (error) {
      const rejection = toErrorResponse(error)
      const response = respondWithError(rejection, { request, endpoint, config })
      report(error, endpoint)
      return response
    }
  }
  const report = (error: unknown, endpoint: Endpoint | undefined) =>
    reportFailure(error, { path: endpoint?.path ?? null, step: 'endpoint' }, config)
  return (request, options = {}) =>
    // Without a valid configuration, not even the headers of a response are known.
    handle(request, options).catch((error: unknown) => {
      const { status, ...body } = toErrorResponse(error)
      report(error, byPath.get(new URL(request.url).pathname))
      return withCommonHeaders(Response.json(body, { status }))
    })
}

/** Reads the query of a GET, otherwise the body, or an empty object. @throws EndpointError */
async function readInput(request: Request, { accepts }: Endpoint): Promise<unknown> {
  if (request.method === 'GET') return readQuery(new URL(request.url).searchParams)
  const text = await readLimited(request.body, MAX_PAYLOAD_BYTES).catch((cause: unknown) => {
    // Any other failure is the client's too: the body broke off.
    throw reject(cause instanceof BodyTooLargeError ? 'PAYLOAD_TOO_LARGE' : 'INVALID_INPUT', { cause })
  })
  if (text === '') return {}
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  const isForm = accepts === 'form'
  if (mediaType !== (isForm ? 'application/x-www-form-urlencoded' : 'application/json'))
    throw reject('UNSUPPORTED_MEDIA_TYPE')
  if (isForm) return readQuery(new URLSearchParams(text))
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw reject('INVALID_INPUT', { cause })
  }
}

function readQuery(query: URLSearchParams): Record<string, string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const name of query.keys()) (seen.has(name) ? repeated : seen).add(name)
  // Choosing one of two values would be a guess.
  if (repeated.size > 0) throw reject('INVALID_INPUT', { fields: [...repeated] })
  return Object.fromEntries(query)
}

function respondWithError(
  { status, ...body }: ErrorResponse & { status: number },
  { request, endpoint, config }: { request: Request; endpoint: Endpoint | undefined; config: AuthConfig },
): Response {
  // Only this error proves that the session is over. With the session header, the cookies are another's.
  const isOver = endpoint?.path === ENDPOINTS.token.path && isSessionOver(body.code) && status === 401
  const isByCookie = !hasSessionHeader((name) => request.headers.get(name), config)
  const cookies = isOver && isByCookie ? clearCookies(config.cookies) : []
  const response = respond(request, config, { status, body, cookies })
  if (endpoint !== undefined && status === 405) response.headers.set('allow', `${endpoint.method}, OPTIONS`)
  if (body.retryAfterSeconds !== undefined)
    response.headers.set('retry-after', String(body.retryAfterSeconds))
  return response
}

function respond(
  request: Request,
  config: AuthConfig,
  { status, body, cookies = [], redirect }: EndpointResult & { readonly status: number },
): Response {
  const headers = corsHeaders(request.headers.get('origin'), config)
  const isRedirect = redirect !== undefined
  const response = withCommonHeaders(
    isRedirect ? new Response(null, { status: 303, headers }) : Response.json(body, { status, headers }),
  )
  if (isRedirect) response.headers.set('location', redirect)
  for (const cookie of cookies) response.headers.append('set-cookie', cookie)
  return response
}

import { AUTH_PATH, type ErrorResponse, type Route } from '@sallyport/core/protocol'
import { AuthClientError, ownError } from './auth-client-error.ts'
import type { CredentialTransport } from './transport.ts'

/**
 * Sends a request to an auth endpoint and returns what it answers.
 *
 * @throws AuthClientError
 */
export type CallEndpoint = (
  route: Route,
  input?: object,
  /** What calls it off. */
  aborter?: AbortController,
  milliseconds?: number,
) => Promise<object>

/** How long the token endpoint and sign-out may take, in milliseconds. */
export const TIMEOUT_MS = 10_000

/** How long an endpoint may take, in milliseconds: others wait for it. */
const LONGEST_MS = 30_000

/** The way to the auth endpoints of a server. */
export function reachEndpoints(
  baseUrl: string,
  transport: CredentialTransport,
  fetch: typeof globalThis.fetch,
): CallEndpoint {
  return async ({ method, path }, input = {}, aborter = new AbortController(), milliseconds = LONGEST_MS) => {
    // Not by `AbortSignal.timeout`, which React Native does not have.
    const timer = setTimeout(() => aborter.abort(), milliseconds)
    const isQuery = method === 'GET'
    const query = isQuery ? toQuery(input) : ''
    const response = await fetch(`${baseUrl}${AUTH_PATH}${path}${query && '?'}${query}`, {
      method,
      // What answers in its place is to see neither the headers nor the body.
      redirect: 'error',
      credentials: transport.credentials,
      headers: { ...transport.headers(true), ...(!isQuery && { 'content-type': 'application/json' }) },
      ...(!isQuery && { body: JSON.stringify(input) }),
      signal: aborter.signal,
    }).catch((cause: unknown) => {
      clearTimeout(timer)
      throw ownError('UNREACHABLE', 0, cause)
    })
    const body: unknown = await response.json().catch(() => null)
    clearTimeout(timer)
    if (response.ok && isObject(body)) return body
    throw isErrorResponse(body)
      ? new AuthClientError(response.status, body)
      : ownError('UNKNOWN', response.status)
  }
}

function isObject(body: unknown): body is object {
  return typeof body === 'object' && body !== null
}

function isErrorResponse(body: unknown): body is ErrorResponse {
  const { code, message } = Object(body)
  return typeof code === 'string' && typeof message === 'string'
}

/** As JSON would be: what is undefined is not sent. */
function toQuery(input: object): string {
  return String(new URLSearchParams(JSON.parse(JSON.stringify(input))))
}

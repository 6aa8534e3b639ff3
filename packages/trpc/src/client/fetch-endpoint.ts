import { AUTH_PATH, type ErrorResponse, type Route } from '@sallyport/core/internal/protocol'
import { AuthClientError, clientError } from './auth-client-error.ts'
import type { CredentialTransport } from './transport.ts'

/** Returns the body of the response, or throws `AuthClientError`. */
export type EndpointFetch = (
  request: Route & {
    readonly input?: object
    /** Added to those of the transport. */
    readonly headers?: Readonly<Record<string, string>>
  },
) => Promise<object>

export function createEndpointFetch(
  baseUrl: string,
  { transport, fetch }: { transport: CredentialTransport; fetch: typeof globalThis.fetch },
): EndpointFetch {
  return async ({ method, path, input = {}, headers }) => {
    const aborter = new AbortController()
    // React Native lacks `AbortSignal.timeout`.
    const timer = setTimeout(() => aborter.abort(), 15_000)
    const json = JSON.stringify(input)
    const isQuery = method === 'GET'
    const query = isQuery ? String(new URLSearchParams(JSON.parse(json))) : ''
    try {
      const response = await fetch(`${baseUrl}${AUTH_PATH}${path}${query && '?'}${query}`, {
        method,
        // The target of a redirect must see neither the headers nor the body. Edge runtimes don't support
        // `error`.
        redirect: 'manual',
        credentials: transport.credentials,
        headers: {
          ...transport.headers(true),
          ...headers,
          ...(!isQuery && { 'content-type': 'application/json' }),
        },
        ...(!isQuery && { body: json }),
        signal: aborter.signal,
      }).catch((cause: unknown) => {
        throw clientError('UNREACHABLE', cause)
      })
      const body: ErrorResponse | null = await response.json().catch(() => null)
      if (response.ok && typeof body === 'object' && body !== null) return body
      // Otherwise, it's from another program.
      const isOurs = typeof body?.code === 'string' && typeof body.message === 'string'
      throw new AuthClientError(response.status, isOurs ? body : clientError('UNKNOWN'))
    } finally {
      clearTimeout(timer)
    }
  }
}

import { ConfigurationError } from '@sallyport/core'
import type { Endpoint } from '@sallyport/core/auth'
import { type AuthHandle, authRequest } from '../server/auth-handle.ts'

/** Whether an endpoint changes anything. The token endpoint is a GET that extends the session. */
export function writes({ method, origin }: Pick<Endpoint, 'method' | 'origin'>): boolean {
  return method === 'POST' || origin === 'token'
}

/**
 * Whether a handle is that of a tRPC query, or of anything else that came to tRPC by GET: a link that someone opens must not write. Of a
 * request that the server's own code brought, only a guard knows: until then it may as well be a plain HTTP route, or the caller of a
 * mutation.
 */
export function isInQuery(auth: AuthHandle): boolean {
  const { kind, identity, isGet } = auth[authRequest]
  if (isGet) return true
  const isKnown = auth.transport !== 'headers' || identity !== undefined
  return isKnown && kind === 'query'
}

/**
 * What a query is told that tries to write: it comes by GET, may be prefetched, sent twice and cached.
 *
 * @param what the write
 */
export function writeInQuery(what: string): ConfigurationError {
  return new ConfigurationError(
    `${what} writes, and this call is a query or came by GET: make it a mutation`,
    {
      code: 'WRITE_IN_QUERY',
    },
  )
}

import { ConfigurationError } from '@sallyport/core'
import type { Endpoint } from '@sallyport/core/auth'
import { type AuthHandle, authRequest } from '../server/auth-handle.ts'

/** Whether an endpoint writes. The token endpoint is a GET that extends the session. */
export function writes({ method, origin }: Pick<Endpoint, 'method' | 'origin'>): boolean {
  return method === 'POST' || origin === 'token'
}

/** Whether a handle belongs to a tRPC query, or to a call that came to tRPC by GET: a link must not be able to write. */
export function isInQuery(auth: AuthHandle): boolean {
  const { kind, identity, isGet } = auth[authRequest]
  // Until a guard runs, a call by the server's own code may be a plain HTTP route or a mutation.
  const isKnown = auth.transport !== 'headers' || identity !== undefined
  return isGet || (isKnown && kind === 'query')
}

/** Returns the error of a query that writes. Its GET may be prefetched, sent twice, and cached. */
export function writeInQuery(subject: string): ConfigurationError {
  return new ConfigurationError(
    `${subject} writes, and this call is a query or came by GET: make it a mutation`,
    { code: 'WRITE_IN_QUERY' },
  )
}

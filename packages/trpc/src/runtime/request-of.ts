import type { EndpointCaller } from '@sallyport/core/auth'
import { authRequest } from '../server/auth-handle.ts'
import type { AuthContext } from '../server/context.ts'

/** The request of a context, as the endpoints of this process take it. */
export function requestOf({ auth }: AuthContext): Parameters<EndpointCaller>[2] {
  const { request, remoteAddress, identity } = auth[authRequest]
  const { method, header } = request
  return {
    request: { method, headers: { get: header } },
    remoteAddress: remoteAddress ?? undefined,
    identity,
  }
}

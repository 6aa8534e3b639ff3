import { AuthError } from '@sallyport/core'
import { authRequest } from '../server/auth-handle.ts'
import type { AuthContext } from '../server/context.ts'
import type { CallEndpoint } from './bound-api.ts'
import { type FunctionReference, functionPath } from './runner/function-reference.ts'
import type { FunctionContext } from './runner/runner.ts'
import { writes } from './writes.ts'

/** The call of an endpoint, with the credentials of the user. */
export interface EndpointCall {
  /** The name of the method of `auth.api`. */
  readonly name: string
  readonly input: object
  readonly request: {
    readonly method: string
    /** By lower-case name. */
    readonly headers: Readonly<Record<string, string>>
    readonly remoteAddress: string | null
  }
}

export interface EndpointResponse {
  readonly body: object
  /** `Set-Cookie` values. */
  readonly cookies?: readonly string[]
}

const queryEndpoint: FunctionReference<'query', EndpointCall, EndpointResponse> = {
  [functionPath]: 'sallyport.queryEndpoint',
}
const mutateEndpoint: FunctionReference<'mutation', EndpointCall, EndpointResponse> = {
  [functionPath]: 'sallyport.mutateEndpoint',
}

/** The headers that endpoints read. `trustedProxies` applies here, so those of proxies don't cross. */
const HEADERS = [
  'authorization',
  'cookie',
  'origin',
  'purpose',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'sec-purpose',
  'user-agent',
  'x-moz',
  'x-sallyport',
  'x-sallyport-session',
]

/** Calls endpoints in the process with the database. They make the same checks, because the credentials are in the body of the call. */
export function httpAdapter(ctx: AuthContext & FunctionContext): CallEndpoint {
  return async (name, endpoint, input) => {
    const call = { name, input, request: portableRequest(ctx) }
    const response = await (writes(endpoint)
      ? ctx.runMutation(mutateEndpoint, call)
      : ctx.runQuery(queryEndpoint, call))
    if (typeof response?.body === 'object' && response.body !== null) return response
    const cause = new TypeError(`Not a response of auth.api.${name}()`)
    throw new AuthError('SESSIONS_UNAVAILABLE', { cause })
  }
}

function portableRequest({ auth }: AuthContext): EndpointCall['request'] {
  const { method, header } = auth[authRequest].request
  const headers = HEADERS.flatMap((name) => {
    const value = header(name)
    return value === null ? [] : [[name, value] as const]
  })
  return { method, headers: Object.fromEntries(headers), remoteAddress: auth.address() }
}

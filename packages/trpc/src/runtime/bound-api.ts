import type {
  ApiResult,
  AuthPlugin,
  Endpoint,
  EndpointResult,
  Endpoints,
  EndpointsOf,
} from '@sallyport/core/auth'
import { toApiResult } from '@sallyport/core/internal/auth'

export type BoundMethod<Of> =
  Of extends Endpoint<infer Input, infer Output, infer Sets>
    ? (
        ...input: Record<never, never> extends Input ? [input?: Input] : [input: Input]
      ) => Promise<ApiResult<Output, Sets>>
    : never

/**
 * The endpoints of a definition, bound to one request. A method takes the input alone. It returns the body of the
 * endpoint and, if the endpoint may set cookies, the `headers` to add to the response.
 */
export type BoundApi<Plugins extends readonly AuthPlugin[]> = {
  readonly [Name in keyof EndpointsOf<Plugins>]: BoundMethod<EndpointsOf<Plugins>[Name]>
}

/** Calls an endpoint through the adapter of a context. */
export type CallEndpoint = (name: string, endpoint: Endpoint, input: object) => Promise<EndpointResult>

/** Creates the methods once, as a prototype, so binding a request costs one object. */
export function createBoundApi<Plugins extends readonly AuthPlugin[]>(
  endpoints: Endpoints,
): (call: CallEndpoint) => BoundApi<Plugins> {
  const calls = new WeakMap<object, CallEndpoint>()
  const methods = {}
  for (const [name, endpoint] of Object.entries(endpoints)) {
    Object.defineProperty(methods, name, {
      enumerable: true,
      // A destructured method stays bound to its request.
      get(this: object) {
        const call = calls.get(this)
        if (call === undefined) return undefined
        return async (input: object = {}) => toApiResult(endpoint, await call(name, endpoint, input))
      },
    })
  }
  return (call) => {
    const api = Object.create(methods)
    calls.set(api, call)
    return api
  }
}

import type {
  ApiResult,
  AuthPlugin,
  Endpoint,
  EndpointResult,
  Endpoints,
  EndpointsOf,
} from '@sallyport/core/auth'
import { toApiResult } from '@sallyport/core/internal/auth'

/** The method of an endpoint, for the request at hand. */
export type BoundMethod<Of> =
  Of extends Endpoint<infer Input, infer Output, infer Sets>
    ? (
        ...input: Record<never, never> extends Input ? [input?: Input] : [input: Input]
      ) => Promise<ApiResult<Output, Sets>>
    : never

/**
 * A method for every endpoint of a definition, on behalf of the request at hand: what it takes is the input alone. It returns the body of
 * the endpoint and, where that may set cookies, the `headers` that do: the answer of the app needs them.
 */
export type BoundApi<Plugins extends readonly AuthPlugin[]> = {
  readonly [Name in keyof EndpointsOf<Plugins>]: BoundMethod<EndpointsOf<Plugins>[Name]>
}

/** The way to an endpoint from where the code runs. */
export type CallEndpoint = (name: string, endpoint: Endpoint, input: object) => Promise<EndpointResult>

/**
 * Makes the methods once, for all requests: what is bound to one of them is an object whose prototype has them all.
 */
export function createBoundApi<Plugins extends readonly AuthPlugin[]>(
  endpoints: Endpoints,
): (call: CallEndpoint) => BoundApi<Plugins> {
  const calls = new WeakMap<object, CallEndpoint>()
  const methods = {}
  for (const [name, endpoint] of Object.entries(endpoints)) {
    Object.defineProperty(methods, name, {
      enumerable: true,
      // A method that is taken out of its object still knows its request.
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

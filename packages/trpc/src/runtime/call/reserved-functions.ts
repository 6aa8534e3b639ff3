import type { RateLimit, SessionKey } from '@sallyport/core'
import { isObject } from './is-object.ts'

/** A query: the session of a {@link SessionKey} as `SessionJson`, or null. Step 2 asks it where there is no database. */
export const FIND_SESSION = 'sallyport.findSession'

/** A query or mutation: an auth endpoint, called with {@link EndpointCall}; it answers with {@link EndpointAnswer}. */
export const CALL_ENDPOINT = 'sallyport.callEndpoint'

/** A mutation: counts an attempt, as `RateLimitStore` does; see {@link ConsumeLimitInput}. It answers with seconds or null. */
export const CONSUME_LIMIT = 'sallyport.consumeLimit'

/** The input of {@link FIND_SESSION}. */
export type FindSessionInput = SessionKey

/** The input of {@link CALL_ENDPOINT}. */
export interface EndpointCall {
  /** The name of the method of `auth.api`. */
  readonly name: string
  readonly input: object
  /** The request at hand: its credentials travel in the body, so that the endpoint makes the same checks as ever. */
  readonly request: {
    readonly method: string
    /** Those that an endpoint looks at, by lower-case name. */
    readonly headers: Readonly<Record<string, string>>
    readonly remoteAddress: string | null
  }
}

/** What {@link CALL_ENDPOINT} answers. */
export interface EndpointAnswer {
  readonly body: object
  /** `Set-Cookie` values. */
  readonly cookies?: readonly string[]
}

/** The input of {@link CONSUME_LIMIT}. */
export interface ConsumeLimitInput {
  readonly key: string
  readonly limit: RateLimit
}

/** Whether what came is such an input. */
export function isSessionKey(input: unknown): input is FindSessionInput {
  return isObject(input) && typeof input.sessionId === 'string' && typeof input.userId === 'string'
}

/** Whether what came is such an input. */
export function isLimitInput(input: unknown): input is ConsumeLimitInput {
  if (!isObject(input) || typeof input.key !== 'string' || !isObject(input.limit)) return false
  // The counters of `rateLimit` alone: a key of a service is not to lock sign-ins.
  if (!/^procedure:.{1,1000}$/su.test(input.key)) return false
  return typeof input.limit.points === 'number' && typeof input.limit.duration === 'number'
}

/** Whether what came is such an input. */
export function isEndpointCall(input: unknown): input is EndpointCall {
  if (!isObject(input) || typeof input.name !== 'string' || !isObject(input.input)) return false
  const { request } = input
  return (
    isObject(request) &&
    typeof request.method === 'string' &&
    isObject(request.headers) &&
    Object.values(request.headers).every((value) => typeof value === 'string') &&
    (request.remoteAddress === null || typeof request.remoteAddress === 'string')
  )
}

import { AuthError } from '@sallyport/core'
import { authRequest } from '../server/auth-handle.ts'
import type { AuthContext } from '../server/context.ts'
import type { CallEndpoint } from './bound-api.ts'
import { CALL_ENDPOINT, type EndpointAnswer, type EndpointCall } from './call/reserved-functions.ts'
import { type FunctionReference, functionPath } from './runner/runner.ts'
import type { FunctionContext } from './runtime-context.ts'
import { writes } from './writes.ts'

const callToRead: FunctionReference<'query', EndpointCall, EndpointAnswer> = { [functionPath]: CALL_ENDPOINT }
const callToWrite: FunctionReference<'mutation', EndpointCall, EndpointAnswer> = {
  [functionPath]: CALL_ENDPOINT,
}

/** What endpoints look at; the address has been found already, as `trustedProxies` decides here. */
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

/**
 * Calls endpoints where the database is. The credentials of the request travel in the body of the call, so that the endpoint makes the
 * same checks as ever.
 */
export function httpAdapter(ctx: AuthContext & FunctionContext): CallEndpoint {
  return async (name, endpoint, input) => {
    const call = { name, input, request: portable(ctx) }
    const answer = await (writes(endpoint)
      ? ctx.runMutation(callToWrite, call)
      : ctx.runQuery(callToRead, call))
    if (typeof answer?.body === 'object' && answer.body !== null) return answer
    throw new AuthError('SESSIONS_UNAVAILABLE', {
      cause: new TypeError(`Not an answer of auth.api.${name}()`),
    })
  }
}

function portable({ auth }: AuthContext): EndpointCall['request'] {
  const { method, header } = auth[authRequest].request
  const headers = HEADERS.flatMap((name) => {
    const value = header(name)
    return value === null ? [] : [[name, value] as const]
  })
  return { method, headers: Object.fromEntries(headers), remoteAddress: auth.address() }
}

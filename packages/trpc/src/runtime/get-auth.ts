import { ConfigurationError } from '@sallyport/core'
import type { ApiResult, AuthDefinition, AuthPlugin, Endpoint, EndpointsOf } from '@sallyport/core/auth'
import { endpointsOf, toApiResult } from '@sallyport/core/internal/auth'
import { type AuthHandle, authCall, authRequest } from '../server/auth-handle.ts'
import { boundMethods } from '../server/bound-methods.ts'
import type { CallEndpoint } from './http-adapter.ts'
import { writeInQuery, writes } from './runner/runner.ts'
import { createSelection, type RuntimeContext } from './select-adapter.ts'

/** An auth endpoint as a method that takes the input alone. */
export type BoundMethod<Of> =
  Of extends Endpoint<infer Input, infer Output, infer Sets>
    ? (
        ...input: Record<never, never> extends Input ? [input?: Input] : [input: Input]
      ) => Promise<ApiResult<Output, Sets>>
    : never

/**
 * The endpoints of a definition, bound to one request. A method returns the body of the endpoint and, if the
 * endpoint may set cookies, the `headers` to add to the response.
 */
export type BoundApi<Plugins extends readonly AuthPlugin[]> = {
  readonly [Name in keyof EndpointsOf<Plugins>]: BoundMethod<EndpointsOf<Plugins>[Name]>
}

/** The endpoints of a definition, bound to one request. */
export interface BoundAuth<Definition extends AuthDefinition> {
  readonly api: BoundApi<Definition['plugins']>
}

/**
 * Returns the auth endpoints for a request, in actions, HTTP routes, and mutations that change sessions and
 * users. They use the database of the context, or its internal functions.
 *
 * @throws ConfigurationError `CONTEXT_UNCLEAR`, `CONTEXT_EMPTY`, or if the database doesn't fit
 * @example const { session } = await getAuth(ctx).api.getSession()
 */
export type GetAuth<Definition extends AuthDefinition> = (ctx: RuntimeContext) => BoundAuth<Definition>

/**
 * Creates `getAuth` for an auth definition. Importing it loads the definition with all its plugins.
 *
 * @param define called once, by the first `getAuth`, so the module of the definition may import this one
 * @throws ConfigurationError `DEFINITION_MISSING` from `getAuth` if that module hasn't been evaluated yet
 * @example export const { getAuth } = createAuthRuntime(() => authDefinition)
 */
export function createAuthRuntime<Definition extends AuthDefinition>(
  define: () => Definition,
): { readonly getAuth: GetAuth<Definition> } {
  let bound: GetAuth<Definition> | undefined
  return {
    getAuth(ctx) {
      bound ??= bindDefinition(load(define))
      return bound(ctx)
    },
  }
}

function bindDefinition<Definition extends AuthDefinition>(definition: Definition): GetAuth<Definition> {
  const select = createSelection(definition)
  const methods = Object.entries(endpointsOf(definition)).map(([name, endpoint]) => {
    const bind =
      ({ auth, call }: { readonly auth: AuthHandle; readonly call: CallEndpoint }) =>
      async (input: object = {}) => {
        auth[authRequest].markChecked()
        // Before anything is sent or read.
        if (writes(endpoint) && isInQuery(auth)) throw writeInQuery(`auth.api.${name}()`)
        return toApiResult(endpoint, await call(name, endpoint, input))
      }
    return [name, bind] as const
  })
  const apiFor = boundMethods(methods)
  return (ctx) => ({ api: apiFor({ auth: ctx.auth, call: select(ctx) }) as BoundApi<Definition['plugins']> })
}

/** Returns whether a call is a tRPC query or came by GET: opening a link must not write. */
function isInQuery({ transport, [authCall]: { kind, identity, isGet } }: AuthHandle): boolean {
  // Until a guard runs, a call by the server's own code may be a plain HTTP route or a mutation.
  const isKnown = transport !== 'headers' || identity !== undefined
  return isGet || (isKnown && kind === 'query')
}

function load<Definition extends AuthDefinition>(define: () => Definition | undefined): Definition {
  try {
    const definition = define()
    if (definition !== undefined) return definition
    throw new ReferenceError('The definition is undefined')
  } catch (cause) {
    throw new ConfigurationError(
      'getAuth was called while the module of the auth definition was still loading: call it in a function',
      { code: 'DEFINITION_MISSING', cause },
    )
  }
}

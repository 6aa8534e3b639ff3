import { ConfigurationError } from '@sallyport/core'
import type { AuthDefinition } from '@sallyport/core/auth'
import { endpointsOf } from '@sallyport/core/internal/auth'
import { type BoundApi, createBoundApi } from './bound-api.ts'
import { createSelection, type RuntimeContext } from './select-adapter.ts'
import { isInQuery, writeInQuery, writes } from './writes.ts'

/** The endpoints of a definition, bound to one request. */
export interface BoundAuth<Definition extends AuthDefinition> {
  readonly api: BoundApi<Definition['plugins']>
}

/**
 * Returns the auth endpoints for a request, in actions, HTTP routes, and mutations that change sessions and users. They
 * use the database of the context, or its internal functions.
 *
 * @throws ConfigurationError `CONTEXT_UNCLEAR` or `CONTEXT_EMPTY`; or if the definition can't use this database
 */
export type GetAuth<Definition extends AuthDefinition> = (ctx: RuntimeContext) => BoundAuth<Definition>

/**
 * Binds an auth definition to `getAuth`. A module that imports the result carries the definition with all its plugins (spec section 1).
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
  const bind = createBoundApi<Definition['plugins']>(endpointsOf(definition))
  return (ctx) => {
    const call = select(ctx)
    const api = bind((name, endpoint, input) => {
      // Before anything is sent or read.
      if (writes(endpoint) && isInQuery(ctx.auth)) throw writeInQuery(`auth.api.${name}()`)
      return call(name, endpoint, input)
    })
    return { api }
  }
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

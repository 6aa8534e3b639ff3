import { type AuthDefinition, endpointsOf } from '@sallyport/core/auth'
import { type BoundApi, type CallEndpoint, createBoundApi } from './bound-api.ts'
import { createSelection, type RuntimeContext } from './select-adapter.ts'
import { isInQuery, writeInQuery, writes } from './writes.ts'

/** The endpoints of a definition, bound to one request. */
export interface BoundAuth<Definition extends AuthDefinition> {
  readonly api: BoundApi<Definition['plugins']>
}

/**
 * Returns the auth endpoints for a request, in actions, HTTP routes, and mutations that change sessions and users. They use the database
 * of the context, or its internal functions.
 *
 * @throws ConfigurationError `CONTEXT_UNCLEAR` or `CONTEXT_EMPTY`; or if the definition can't use this database
 */
export type GetAuth<Definition extends AuthDefinition> = (ctx: RuntimeContext) => BoundAuth<Definition>

export function createGetAuth<Definition extends AuthDefinition>(
  definition: () => Definition,
): GetAuth<Definition> {
  const select = createSelection(definition)
  let bind: ((call: CallEndpoint) => BoundApi<Definition['plugins']>) | undefined
  return (ctx) => {
    const call = rejectWritesInQueries(select(ctx), ctx)
    bind ??= createBoundApi<Definition['plugins']>(endpointsOf(definition()))
    return { api: bind(call) }
  }
}

/** Rejects before anything is sent or read. */
function rejectWritesInQueries(call: CallEndpoint, { auth }: RuntimeContext): CallEndpoint {
  return (name, endpoint, input) => {
    if (writes(endpoint) && isInQuery(auth)) throw writeInQuery(`auth.api.${name}()`)
    return call(name, endpoint, input)
  }
}

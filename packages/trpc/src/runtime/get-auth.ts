import type { AuthDefinition } from '@sallyport/core/auth'
import { endpointsOf } from '@sallyport/core/internal/auth'
import { type BoundApi, type CallEndpoint, createBoundApi } from './bound-api.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { createSelection } from './select-adapter.ts'
import { isInQuery, writeInQuery, writes } from './writes.ts'

/** What `getAuth` returns: the endpoints of the definition, bound to one request. */
export interface BoundAuth<Definition extends AuthDefinition> {
  readonly api: BoundApi<Definition['plugins']>
}

/**
 * The auth object of a request, for actions, HTTP routes, and mutations that change sessions and users. It reaches the database directly
 * where the context has one, else by internal functions.
 *
 * @throws ConfigurationError `CONTEXT_UNCLEAR` or `CONTEXT_EMPTY`; or where the definition cannot work on this database
 */
export type GetAuth<Definition extends AuthDefinition> = (ctx: RuntimeContext) => BoundAuth<Definition>

/** Makes the `getAuth` of a definition, which it asks for when it is first called. */
export function createGetAuth<Definition extends AuthDefinition>(
  definition: () => Definition,
): GetAuth<Definition> {
  const select = createSelection(definition)
  let bind: ((call: CallEndpoint) => BoundApi<Definition['plugins']>) | undefined
  return (ctx) => {
    const call = refusingWrites(select(ctx), ctx)
    bind ??= createBoundApi<Definition['plugins']>(endpointsOf(definition()))
    return { api: bind(call) }
  }
}

/** Nothing is sent or read before the refusal. */
function refusingWrites(call: CallEndpoint, { auth }: RuntimeContext): CallEndpoint {
  return (name, endpoint, input) => {
    if (writes(endpoint) && isInQuery(auth)) throw writeInQuery(`auth.api.${name}()`)
    return call(name, endpoint, input)
  }
}

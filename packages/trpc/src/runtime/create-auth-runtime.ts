import { ConfigurationError } from '@sallyport/core'
import type { AuthDefinition } from '@sallyport/core/auth'
import { createGetAuth, type GetAuth } from './get-auth.ts'

export interface AuthRuntime<Definition extends AuthDefinition> {
  readonly getAuth: GetAuth<Definition>
}

/**
 * Binds an auth definition to `getAuth`. A module that imports the result carries the definition with all its plugins (spec section 1).
 *
 * @param define called once, by the first `getAuth`, so the module of the definition may import this one
 * @example export const { getAuth } = createAuthRuntime(() => authDefinition)
 */
export function createAuthRuntime<Definition extends AuthDefinition>(
  define: () => Definition,
): AuthRuntime<Definition> {
  let definition: Definition | undefined
  return {
    getAuth: createGetAuth(() => {
      definition ??= load(define)
      return definition
    }),
  }
}

/** @throws ConfigurationError `DEFINITION_MISSING` if the module of the definition hasn't been evaluated yet */
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

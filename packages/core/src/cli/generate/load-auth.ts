import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AuthDefinition } from '../../endpoints/definition.ts'
import { ConfigurationError, isConfigurationError } from '../../protocol/errors.ts'
import { loadDefinition } from '../database-options.ts'

/** The auth definition of an app, or a sentence that says what there is instead. */
export type LoadedAuth = { readonly definition: AuthDefinition } | { readonly missing: string }

/**
 * Loads an auth definition, as far as there is one.
 *
 * @throws ConfigurationError when its module throws, or has another default export
 */
export async function loadAuth(path: string): Promise<LoadedAuth> {
  if (!existsSync(path)) return { missing: `${path} does not exist` }
  try {
    const module: { default?: unknown } = await import(pathToFileURL(resolve(path)).href)
    if (module.default === undefined) return { missing: `${path} has no default export` }
    const definition = await loadDefinition(path)
    return definition === null ? { missing: `${path} has no default export` } : { definition }
  } catch (cause) {
    if (isConfigurationError(cause))
      throw new ConfigurationError(`${path} could not be loaded: ${cause.message}`, { cause })
    // Of a syntax error the stack alone says where it is.
    const told = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
    throw new ConfigurationError(`${path} could not be loaded: ${told}`, { cause })
  }
}

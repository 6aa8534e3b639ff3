import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AuthDefinition } from '../endpoints/definition.ts'
import { ConfigurationError } from '../protocol/errors.ts'

/** Imports the module whose default export is the auth definition. @throws ConfigurationError */
export async function loadDefinition(path: string): Promise<AuthDefinition> {
  if (!existsSync(path))
    throw new ConfigurationError(`${path} doesn't exist. Pass the module with the auth definition as --auth.`)
  const module = await importModule(path)
  if (module.default?.plugins !== undefined) return module.default
  throw new ConfigurationError(
    `${path}: the default export isn't an auth definition. Export what defineAuth() returns.`,
  )
}

async function importModule(path: string): Promise<{ default?: AuthDefinition }> {
  try {
    return await import(pathToFileURL(resolve(path)).href)
  } catch (cause) {
    // Only the stack of a syntax error says where it is.
    const reason = cause instanceof SyntaxError ? cause.stack : cause instanceof Error ? cause.message : cause
    throw new ConfigurationError(`${path} could not be loaded: ${reason}`, { cause })
  }
}

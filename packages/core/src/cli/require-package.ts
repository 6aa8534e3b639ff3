import { ConfigurationError } from '../protocol/errors.ts'

/**
 * Returns a handler for a failed import that says which optional package to install.
 *
 * @param purpose why the command needs the package: a sentence without its period
 * @throws ConfigurationError from the handler if the package is missing; otherwise the error itself
 */
export function requirePackage(name: string, purpose: string): (cause: unknown) => never {
  return (cause) => {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    throw new ConfigurationError(`${purpose}. Run "pnpm add -D ${name}".`, { cause })
  }
}

import { ConfigurationError } from '../protocol/errors.ts'

/**
 * Handles a failed import: says what to install if an optional package is missing.
 *
 * @param what a sentence about what the command needs the package for, without its period
 * @throws ConfigurationError with the command that installs the package; any other error as it is
 */
export function refuseWithout(name: string, what: string): (cause: unknown) => never {
  return (cause) => {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    throw new ConfigurationError(`${what}. Run "pnpm add -D ${name}".`, { cause })
  }
}

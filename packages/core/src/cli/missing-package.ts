import { ConfigurationError } from '../protocol/errors.ts'

/**
 * For a module that could not be loaded: says what to install where an optional package is not there.
 *
 * @param what what the command needs the package for
 * @throws ConfigurationError with the name of the package and the cure; anything else as it is
 */
export function refuseWithout(name: string, what: string): (cause: unknown) => never {
  return (cause) => {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    throw new ConfigurationError(`${what}: add it, such as by "pnpm add -D ${name}"`, { cause })
  }
}

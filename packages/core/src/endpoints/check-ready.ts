import { ConfigurationError, isAuthError, isConfigurationError } from '../protocol/errors.ts'
import { checkKeys, checkLookup } from '../session/is-ready.ts'
import type { EndpointServer } from './create-context.ts'
import { type AuthDefinition, requireSigningKeys } from './definition.ts'

/** Checks keys, configuration, and database. @throws ConfigurationError that lists every problem */
export async function checkReady(
  definition: AuthDefinition,
  connect: () => Promise<EndpointServer>,
): Promise<void> {
  const { config } = definition
  const checks = [
    () => checkKeys(config),
    () => requireSigningKeys(definition),
    async () => checkLookup(config, (await connect()).database.sessions),
  ]
  const results = await Promise.allSettled(checks.map(async (check) => check()))
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  // An invalid configuration fails every check.
  const problems = new Set(errors.map(describe))
  if (problems.size === 0) return
  const cause = problems.size === 1 ? errors[0] : new AggregateError(errors)
  throw new ConfigurationError([...problems].join('\n'), { cause })
}

function describe(error: unknown): string {
  const { message, code, cause }: { message?: unknown; code?: unknown; cause?: unknown } = Object(error)
  if (isAuthError(error) && cause !== undefined)
    return isConfigurationError(cause) ? cause.message : `${error.reason}: ${describe(cause)}`
  // Errors of several addresses have a code and no message.
  return String(message || code || error)
}

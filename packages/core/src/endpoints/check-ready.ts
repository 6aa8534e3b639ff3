import { checkKeys, checkLookup, requireReady } from '../session/is-ready.ts'
import type { EndpointServer } from './create-context.ts'
import { type AuthDefinition, requireSigningKeys } from './definition.ts'

/** Checks keys, configuration, and database. @throws ConfigurationError that lists every problem */
export async function checkReady(
  definition: AuthDefinition,
  connect: () => Promise<EndpointServer>,
): Promise<void> {
  const { config } = definition
  await requireReady([
    () => checkKeys(config),
    () => requireSigningKeys(definition),
    async () => checkLookup(config, (await connect()).database.sessions),
  ])
}

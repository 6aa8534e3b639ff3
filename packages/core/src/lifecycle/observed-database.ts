import { type AnyDatabase, toSessionDatabase } from '../database/database.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import type { AuthDefinition, AuthPlugin } from '../endpoints/definition.ts'
import type { EventRequest } from '../events/event.ts'

/** Adds the hooks of the plugins and the listener of a definition to a database. */
export function observed(
  given: AnyDatabase,
  definition: Pick<AuthDefinition, 'config' | 'plugins'> | null,
): SessionDatabase {
  const database = toSessionDatabase(given)
  if (definition === null) return database
  const hooks = definition.plugins.flatMap(({ onChange }) => (onChange === undefined ? [] : [onChange]))
  return { ...database, hooks, onEvent: definition.config.onEvent }
}

/** Adds the request that causes changes to their events. */
export function forRequest(database: SessionDatabase, request: EventRequest): SessionDatabase {
  const { onEvent } = database
  return {
    ...database,
    request,
    onEvent:
      onEvent && ((event) => onEvent(event.type === 'decision.denied' ? event : { ...request, ...event })),
  }
}

/** Returns the plugins' tables whose expired rows are pruned. */
export function expiringTables(plugins: readonly AuthPlugin[]): string[] {
  return plugins.flatMap(({ expiringTables = [] }) => expiringTables)
}

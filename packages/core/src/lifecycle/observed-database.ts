import { type AnyDatabase, toSessionDatabase } from '../database/any-database.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import type { AuthDefinition, AuthPlugin } from '../endpoints/definition.ts'
import type { EventOrigin } from '../events/event.ts'

/** A database whose changes reach the hooks of the plugins and the listener of an auth definition. */
export function observed(
  given: AnyDatabase,
  definition: Pick<AuthDefinition, 'config' | 'plugins'> | null,
): SessionDatabase {
  const database = toSessionDatabase(given)
  if (definition === null) return database
  const hooks = definition.plugins.flatMap(({ onChange }) => (onChange === undefined ? [] : [onChange]))
  return { ...database, hooks, onEvent: definition.config.onEvent }
}

/** The same database for one request: its events say where they come from. */
export function withOrigin(database: SessionDatabase, origin: EventOrigin): SessionDatabase {
  const { onEvent } = database
  return {
    ...database,
    origin,
    onEvent:
      onEvent && ((event) => onEvent(event.type === 'decision.denied' ? event : { ...origin, ...event })),
  }
}

/** The tables of plugins whose expired rows are pruned. */
export function expiringTables(plugins: readonly AuthPlugin[]): string[] {
  return plugins.flatMap(({ expiringTables = [] }) => expiringTables)
}

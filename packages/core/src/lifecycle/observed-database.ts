import { type AnyDatabase, toSessionDatabase } from '../database/database.ts'
import type { ChangeHook, SessionDatabase } from '../database/session-database.ts'
import type { AuthDefinition } from '../endpoints/definition.ts'
import type { EventListener, EventRequest } from '../events/event.ts'
import { deleteChallenges } from './delete-challenges.ts'

/** Adds the hooks of the plugins and the listener of a definition to a database. */
export function observed(
  given: AnyDatabase,
  definition: Pick<AuthDefinition, 'config' | 'plugins'> | null,
): SessionDatabase {
  const database = toSessionDatabase(given)
  if (definition === null) return database
  const hooks = [endChallenges, ...definition.plugins.flatMap(({ onChange = [] }) => onChange)]
  return { ...database, hooks, onEvent: definition.config.onEvent }
}

/** Ends the sign-ins that a former password or email began. */
const endChallenges: ChangeHook = async (event, trx) => {
  const isOver =
    event.type === 'user.password-changed' ||
    event.type === 'user.email-changed' ||
    event.type === 'user.email-change-undone' ||
    event.type === 'user.deleted'
  if (isOver) await deleteChallenges(trx, event.userId)
}

/** Adds the request that causes changes to their events. */
export function forRequest(database: SessionDatabase, request: EventRequest): SessionDatabase {
  const { onEvent } = database
  const listener: EventListener = (event) =>
    onEvent?.(event.type === 'decision.denied' ? event : { ...request, ...event })
  return { ...database, request, onEvent: onEvent && listener }
}

import type { Insertable } from 'kysely'
import { type AnyDatabase, toSessionDatabase } from '../database/database.ts'
import type { AuditTable } from '../database/schema/kysely-tables.ts'
import type {
  AuthTransaction,
  ChangeEvent,
  RecordEvent,
  SessionDatabase,
} from '../database/session-database.ts'
import { emit } from '../events/emit.ts'
import { DeadlineError, withDeadline } from '../protocol/deadline.ts'
import { AuthError, ConfigurationError } from '../protocol/errors.ts'
import { backOff } from '../protocol.ts'
import { isConflict, isDuplicate } from '../session/conflict.ts'

/** Hooks run again for the events that they record, without a pause in which a timer could end it. */
const MAX_HOOK_ROUNDS = 10
const ENDLESS =
  'onChange records an event for each event, without end. Check event.type before you record one.'

/** Databases limit the number of values in a statement. */
const MAX_ROWS_PER_STATEMENT = 500

const MAX_RETRIES = 5
const CONFLICT_PAUSE = { minMs: 20, maxMs: 80 }

/** Bounds hooks: one that hangs, or waits for another connection, would block all other writes. */
const MAX_CHANGE_MS = 10_000

/**
 * Makes a change, with the hooks of the plugins and its audit records, in one transaction. After the commit
 * it ends live streams, calls `onEvent`, and returns, in this order.
 * @param work makes the change and records its events. Runs again after a conflict with another transaction,
 * and once after a duplicate, so it must have no other effects.
 * @throws AuthError `SESSIONS_UNAVAILABLE` after too many conflicts, or if the change takes over 10 s
 * @throws ConfigurationError if the hooks record events without end
 */
export async function commit<Result>(
  given: AnyDatabase,
  work: (trx: AuthTransaction, record: RecordEvent) => Promise<Result>,
): Promise<Result> {
  const database = toSessionDatabase(given)

  async function change(trx: AuthTransaction): Promise<{ result: Result; events: ChangeEvent[] }> {
    const events: ChangeEvent[] = []
    const record: RecordEvent = (event) => void events.push({ ...database.request, ...event })
    const result = await work(trx, record)
    for (let from = 0, rounds = 0; from < events.length; rounds++) {
      if (rounds === MAX_HOOK_ROUNDS) throw new ConfigurationError(ENDLESS)
      const added = events.slice(from)
      from = events.length
      for (const event of added) for (const hook of database.hooks ?? []) await hook(event, trx, record)
    }
    for (let from = 0; from < events.length; from += MAX_ROWS_PER_STATEMENT) {
      const rows = events.slice(from, from + MAX_ROWS_PER_STATEMENT).map(toRow)
      await trx.insertInto('sallyport.audit').values(rows).execute()
    }
    return { result, events }
  }

  const { result, events } = await retryConflicts(() =>
    // Kysely rejects statements that a late change still tries on a finished transaction.
    database.db.transaction().execute((trx) => withDeadline(change(trx), MAX_CHANGE_MS)),
  )
  for (const event of events) publish(event, database)
  for (const event of events) emit(event, database.onEvent)
  return result
}

async function retryConflicts<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let retries = 0; ; retries++) {
    try {
      return await attempt()
    } catch (cause) {
      const isTimeout = cause instanceof DeadlineError
      // The first time, another transaction may have taken the value after the work looked.
      const isLate = retries === 0 && isDuplicate(cause)
      if (!isTimeout && !isLate && !isConflict(cause)) throw cause
      if (isTimeout || retries === MAX_RETRIES) throw new AuthError('SESSIONS_UNAVAILABLE', { cause })
    }
    // The random pause keeps the same transactions from colliding again.
    await new Promise((resolve) => setTimeout(resolve, backOff(retries + 1, CONFLICT_PAUSE)))
  }
}

/** Makes streams that the event may end validate their session again. */
function publish(event: ChangeEvent, { revocations }: SessionDatabase): void {
  const { userId } = event
  // Only events of plugins have a colon.
  const isOfUser = ENDS_USER_STREAMS.has(event.type) || event.type.includes(':')
  if (event.type === 'session.revoked' || event.type === 'session.version-changed')
    revocations.publish({ sessionId: event.sessionId, userId })
  else if (isOfUser && userId !== null) revocations.publish({ sessionId: null, userId })
}

const ENDS_USER_STREAMS = new Set<ChangeEvent['type']>(['user.banned', 'user.deleted', 'user.role-changed'])

const NO_VALUES = { sessionId: null, actorId: null, address: null, userAgent: null, actingSessionId: null }

function toRow({ at, type, userId, ...event }: ChangeEvent): Insertable<AuditTable> {
  const values = { ...NO_VALUES, detail: {}, ...event }
  const { sessionId, actorId, address, userAgent, actingSessionId, detail: ofPlugin, ...others } = values
  const columns = { type, userId, sessionId, actorId, address, userAgent, actingSessionId }
  const detail = JSON.stringify({ ...others, ...ofPlugin })
  return { id: crypto.randomUUID(), ...columns, detail, createdAt: at }
}

import type { Insertable } from 'kysely'
import { type AnyDatabase, toSessionDatabase } from '../database/any-database.ts'
import type { AuthTransaction, ChangeEvent, RecordEvent } from '../database/auth-transaction.ts'
import type { AuditTable } from '../database/schema.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import { emit } from '../events/emit.ts'
import type { PluginEvent } from '../events/event.ts'
import { DeadlineError, withDeadline } from '../protocol/deadline.ts'
import { AuthError } from '../protocol/errors.ts'
import { backOff } from '../protocol.ts'
import { isConflict } from '../session/conflict.ts'

/** A statement takes only so many values. */
const ROWS_AT_ONCE = 500

/** How often a transaction is tried again that the database undid for the sake of another. */
const MOST_RETRIES = 5
const CONFLICT_PAUSE = { minMs: 20, maxMs: 80 }

/**
 * Makes a change: in one transaction with the hooks of the plugins and its rows in `audit`. Only after the commit is it announced, to
 * the live streams that it ends and then to `onEvent`; and only after that is the caller told. So whoever hears of a revocation finds it
 * done everywhere here, and a crash before the commit leaves nothing behind.
 *
 * @param work makes the change and records what happened; when it throws, nothing has. Run again where two changes got in each other's
 * way, so its only effects are those in the transaction
 * @throws AuthError `SESSIONS_UNAVAILABLE` where they did so again and again
 */
export async function commit<Result>(
  given: AnyDatabase,
  work: (trx: AuthTransaction, record: RecordEvent) => Promise<Result>,
): Promise<Result> {
  const database = toSessionDatabase(given)

  async function change(trx: AuthTransaction): Promise<{ result: Result; events: ChangeEvent[] }> {
    const events: ChangeEvent[] = []
    const record: RecordEvent = (event) => void events.push({ ...database.origin, ...event })
    const result = await work(trx, record)
    // What a hook records comes after the event that it was told of, and is told in its turn.
    for (const event of events) {
      for (const hook of database.hooks ?? []) await hook(event, trx, record)
    }
    for (let from = 0; from < events.length; from += ROWS_AT_ONCE) {
      const rows = events.slice(from, from + ROWS_AT_ONCE).map(toRow)
      await trx.insertInto('audit').values(rows).execute()
    }
    return { result, events }
  }

  const { result, events } = await retrying(() =>
    database.db.transaction().execute((trx) => inTime(change(trx))),
  )
  for (const event of events) announce(event, database)
  for (const event of events) emit(event, database.onEvent)
  return result
}

async function retrying<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let retries = 0; ; retries++) {
    try {
      return await attempt()
    } catch (cause) {
      if (!isConflict(cause)) throw cause
      if (retries === MOST_RETRIES) throw new AuthError('SESSIONS_UNAVAILABLE', { cause })
    }
    // Those that got in each other's way must not do so again in step.
    await new Promise((resolve) => setTimeout(resolve, backOff(retries + 1, CONFLICT_PAUSE)))
  }
}

/** A hook that waits for ever, or for another connection, would keep everyone else from writing. */
const LONGEST_CHANGE_MS = 10_000

/**
 * Kysely refuses whatever is still tried on a transaction that is over.
 *
 * @throws AuthError `SESSIONS_UNAVAILABLE` when it takes too long; then nothing of it counts
 */
async function inTime<Result>(change: Promise<Result>): Promise<Result> {
  try {
    return await withDeadline(change, LONGEST_CHANGE_MS)
  } catch (cause) {
    throw cause instanceof DeadlineError ? new AuthError('SESSIONS_UNAVAILABLE', { cause }) : cause
  }
}

/** Whatever may end a session makes its streams ask again. */
function announce(event: ChangeEvent, { revocations }: SessionDatabase): void {
  switch (event.type) {
    case 'session.revoked':
    case 'session.version-changed':
      revocations.publish({ sessionId: event.sessionId, userId: event.userId })
      break
    case 'user.banned':
    case 'user.deleted':
    case 'user.role-changed':
      revocations.publish({ sessionId: null, userId: event.userId })
      break
    default:
      if (isPluginEvent(event) && event.userId !== null)
        revocations.publish({ sessionId: null, userId: event.userId })
  }
}

function isPluginEvent(event: ChangeEvent): event is PluginEvent {
  return event.type.includes(':')
}

function toRow(event: ChangeEvent): Insertable<AuditTable> {
  const { type, at, userId, ...further } = event
  const {
    sessionId,
    actorId,
    address,
    userAgent,
    actingSessionId,
    detail: ofPlugin,
    ...others
  } = {
    sessionId: null,
    actorId: null,
    address: null,
    userAgent: null,
    actingSessionId: null,
    detail: {},
    ...further,
  }
  const detail = JSON.stringify({ ...others, ...ofPlugin })
  const id = crypto.randomUUID()
  const origin = { address, userAgent, actingSessionId }
  return { id, type, userId, sessionId, actorId, ...origin, detail, createdAt: at }
}

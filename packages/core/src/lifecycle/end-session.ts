import type { AnyDatabase } from '../database/database.ts'
import { toNullableDate } from '../database/schema/kysely-tables.ts'
import type { AuthTransaction, RecordEvent } from '../database/session-database.ts'
import type { RevocationCause } from '../events/event.ts'
import type { SessionCookie } from '../request/credentials.ts'
import { secretStatus } from '../session/secret.ts'
import { commit } from './commit.ts'
import { lockUsers } from './locked-sessions.ts'

/** A session by its id, or all sessions of a user. */
export interface SessionSelector {
  readonly sessionId?: string
  readonly userId?: string
  /** Selects only these. */
  readonly onlyIds?: readonly string[]
  /** Selects all but this one. */
  readonly exceptId?: string
}

interface Ending {
  /** @default 'revoked' */
  readonly cause: RevocationCause
  /** The admin who does it. @default null: the user, or the app's code */
  readonly actorId?: string | null
  /** @default the current time */
  readonly at: Date
}

/** Ends sessions inside a transaction, locks their user in it, and returns how many ended. */
export async function deleteSessions(
  trx: AuthTransaction,
  record: RecordEvent,
  { sessionId, userId, onlyIds, exceptId, cause, actorId = null, at }: SessionSelector & Ending,
): Promise<number> {
  const owner = userId ?? (await ownerOf(trx, sessionId))
  if (owner === null) return 0
  await lockUsers(trx, [owner])
  let statement = trx.deleteFrom('session').where('userId', '=', owner)
  if (sessionId !== undefined) statement = statement.where('id', '=', sessionId)
  if (onlyIds !== undefined) statement = statement.where('id', 'in', onlyIds)
  if (exceptId !== undefined) statement = statement.where('id', '!=', exceptId)
  const ended = await statement.returning('id').execute()
  for (const { id } of ended)
    record({ type: 'session.revoked', userId: owner, sessionId: id, cause, actorId, at })
  return ended.length
}

async function ownerOf(trx: AuthTransaction, sessionId: string | undefined): Promise<string | null> {
  if (sessionId === undefined) throw new TypeError('deleteSessions needs a sessionId or a userId')
  const query = trx.selectFrom('session').select('userId').where('id', '=', sessionId)
  return (await query.executeTakeFirst())?.userId ?? null
}

/** Ends a session by its id. Returns false if it doesn't exist. */
export async function revokeSession(
  sessionId: string,
  database: AnyDatabase,
  options: Partial<Ending> = {},
): Promise<boolean> {
  return (await endSessions(database, { sessionId }, options)) > 0
}

/** Ends all sessions of a user, and returns how many ended. */
export function revokeSessions(
  userId: string,
  database: AnyDatabase,
  options: Partial<Ending> = {},
): Promise<number> {
  return endSessions(database, { userId }, options)
}

function endSessions(
  database: AnyDatabase,
  selector: SessionSelector,
  { cause = 'revoked', actorId = null, at = new Date() }: Partial<Ending>,
): Promise<number> {
  return commit(database, (trx, record) => deleteSessions(trx, record, { ...selector, cause, actorId, at }))
}

/**
 * Ends the session of a session cookie, and returns whether one ended. A secret that was rotated out ends it
 * too, since it was copied. A superseded secret ends nothing: an attacker may have copied it before the user
 * proved who they are.
 */
export async function deleteSessionOf(
  { sessionId, secret }: SessionCookie,
  { trx, record, cause, at }: { trx: AuthTransaction; record: RecordEvent } & Omit<Ending, 'actorId'>,
): Promise<boolean> {
  const found = await trx
    .selectFrom('session')
    .select(['userId', 'token', 'previousToken', 'rotatedAt', 'tokenFamily', 'provedVersion'])
    .where('id', '=', sessionId)
    .executeTakeFirst()
  if (found === undefined) return false
  const status = await secretStatus(secret, { ...found, rotatedAt: toNullableDate(found.rotatedAt) }, at)
  if (status === 'unknown' || status === 'superseded') return false
  const ending = { cause: status === 'replayed' ? 'token-replayed' : cause, at } as const
  await deleteSessions(trx, record, { sessionId, userId: found.userId, ...ending })
  return true
}

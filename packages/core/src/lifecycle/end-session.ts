import type { AnyDatabase } from '../database/any-database.ts'
import type { AuthTransaction, RecordEvent } from '../database/auth-transaction.ts'
import { toNullableDate } from '../database/schema.ts'
import type { RevocationCause } from '../events/event.ts'
import type { SessionCookie } from '../request/credentials.ts'
import { secretStatus } from '../session/secret-status.ts'
import { commit } from './commit.ts'
import { lockUsers } from './lock-user.ts'

/** Which sessions are meant. Those of one user, unless an id is given. */
export interface SessionSelector {
  readonly sessionId?: string
  readonly userId?: string
  /** All but this one. */
  readonly exceptId?: string
}

/** Why sessions end, for whoever reads the record of it. */
export interface Ending {
  readonly cause: RevocationCause
  /** The admin who did it; null when the user did, or the app's own code. */
  readonly actorId: string | null
  readonly at: Date
}

/** Ends sessions inside a transaction, which has their users locked from then on. The number that ended. */
export async function deleteSessions(
  trx: AuthTransaction,
  record: RecordEvent,
  { sessionId, userId, exceptId, ...ending }: SessionSelector & Ending,
): Promise<number> {
  const owner = userId ?? (await ownerOf(trx, sessionId))
  if (owner === null) return 0
  await lockUsers(trx, [owner])
  let statement = trx.deleteFrom('session').where('userId', '=', owner)
  if (sessionId !== undefined) statement = statement.where('id', '=', sessionId)
  if (exceptId !== undefined) statement = statement.where('id', '!=', exceptId)
  const ended = await statement.returning(['id', 'userId']).execute()
  for (const session of ended) {
    record({ type: 'session.revoked', userId: session.userId, sessionId: session.id, ...ending })
  }
  return ended.length
}

async function ownerOf(trx: AuthTransaction, sessionId: string | undefined): Promise<string | null> {
  if (sessionId === undefined) throw new TypeError('Whose sessions?')
  const session = await trx
    .selectFrom('session')
    .select('userId')
    .where('id', '=', sessionId)
    .executeTakeFirst()
  return session?.userId ?? null
}

/** Ends a session by its id. False when there was none. */
export async function revokeSession(
  sessionId: string,
  database: AnyDatabase,
  { cause = 'revoked', actorId = null, at = new Date() }: Partial<Ending> = {},
): Promise<boolean> {
  const ended = await commit(database, (trx, record) =>
    deleteSessions(trx, record, { sessionId, cause, actorId, at }),
  )
  return ended > 0
}

/** Ends all sessions of a user. The number that ended. */
export function revokeSessions(
  userId: string,
  database: AnyDatabase,
  { cause = 'revoked', actorId = null, at = new Date() }: Partial<Ending> = {},
): Promise<number> {
  return commit(database, (trx, record) => deleteSessions(trx, record, { userId, cause, actorId, at }))
}

/**
 * Ends the session of a session cookie. A secret that was rotated out ends it too, since someone else holds
 * the current one. A superseded secret ends nothing: it may be a thief's copy, from before the user proved
 * who they are.
 *
 * @returns whether a session ended
 */
export async function deleteSessionOf(
  cookie: SessionCookie,
  { trx, record, cause, at }: { trx: AuthTransaction; record: RecordEvent } & Omit<Ending, 'actorId'>,
): Promise<boolean> {
  const found = await trx
    .selectFrom('session')
    .select(['userId', 'token', 'previousToken', 'rotatedAt', 'tokenFamily', 'provedVersion'])
    .where('id', '=', cookie.sessionId)
    .executeTakeFirst()
  if (found === undefined) return false
  const columns = { ...found, rotatedAt: toNullableDate(found.rotatedAt) }
  const status = await secretStatus(cookie.secret, columns, at)
  if (status === 'unknown' || status === 'superseded') return false
  const ending = { cause: status === 'replayed' ? 'token-replayed' : cause, actorId: null, at } as const
  await deleteSessions(trx, record, { sessionId: cookie.sessionId, userId: found.userId, ...ending })
  return true
}

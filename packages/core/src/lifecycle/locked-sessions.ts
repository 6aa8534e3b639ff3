import type { Selectable } from 'kysely'
import type { SessionLocks } from '../database/find-session-sql.ts'
import type { SessionTable, UserTable } from '../database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../database/session-database.ts'
import type { Session, SessionKey, SessionReader } from '../session/session.ts'
import { type ProvedSession, validateSession } from '../session/validate-session.ts'
import { findLocked, kyselyExecute, LOCK_TIMEOUT_MS } from './lock-session.ts'

/**
 * Creates the reader for Step 2 inside a transaction that is about to write. It sees every committed
 * revocation, and an uncommitted one waits for the end of this transaction.
 */
export function lockedSessions(trx: AuthTransaction, locks: SessionLocks): SessionReader {
  const { engine } = locks.sql
  const execute = kyselyExecute((query) => trx.executeQuery(query), engine)
  const system = engine === 'sqlite' ? engine : 'postgresql'
  return { meter: { system, telemetry: undefined }, findSession: (key) => findLocked(execute, key, locks) }
}

export function validateLocked(
  identity: ProvedSession,
  { trx, locks, now }: { trx: AuthTransaction; locks: SessionLocks; now: () => Date },
): Promise<Session> {
  return validateSession(identity, lockedSessions(trx, locks), { now, lookupTimeoutMs: LOCK_TIMEOUT_MS })
}

/** Locks a user until the transaction ends. Returns undefined if the user doesn't exist. */
export function lockUser(trx: AuthTransaction, userId: string): Promise<Selectable<UserTable> | undefined> {
  return trx.selectFrom('user').selectAll().where('id', '=', userId).forNoKeyUpdate().executeTakeFirst()
}

/** Locks a session of a user until the transaction ends. Lock the user first. */
export function lockSession(
  trx: AuthTransaction,
  { sessionId, userId }: SessionKey,
): Promise<Selectable<SessionTable> | undefined> {
  const session = trx.selectFrom('session').selectAll().where('id', '=', sessionId)
  return session.where('userId', '=', userId).forNoKeyUpdate().executeTakeFirst()
}

/**
 * Locks users in the order of their ids until the transaction ends, and returns the ids that exist. Every
 * change locks the user's row before a session's row, so two changes never deadlock.
 */
export async function lockUsers(trx: AuthTransaction, userIds: readonly string[]): Promise<string[]> {
  if (userIds.length === 0) return []
  const users = trx.selectFrom('user').select('id').where('id', 'in', userIds).orderBy('id')
  return (await users.forNoKeyUpdate().execute()).map(({ id }) => id)
}

/** Locks users until the transaction ends. Returns the ids of those that another transaction has locked. */
export async function lockFreeUsers(trx: AuthTransaction, userIds: readonly string[]): Promise<string[]> {
  const users = trx.selectFrom('user').select('id').where('id', 'in', userIds)
  const locked = new Set((await users.forNoKeyUpdate().skipLocked().execute()).map(({ id }) => id))
  if (locked.size === userIds.length) return []
  return (await users.execute()).map(({ id }) => id).filter((id) => !locked.has(id))
}

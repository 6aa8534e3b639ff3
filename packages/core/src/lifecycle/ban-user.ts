import type { AnyDatabase } from '../database/database.ts'
import { toNullableDate } from '../database/schema.ts'
import type { AuthTransaction, RecordEvent } from '../database/session-database.ts'
import type { BanTerms } from '../events/event.ts'
import { commit } from './commit.ts'

interface Unban {
  readonly userId: string
  /** The admin who did it; null for the app's own code. */
  readonly actorId: string | null
  readonly at: Date
}

interface Ban extends Unban {
  readonly reason: string | null
  /** Null is permanent. */
  readonly expiresAt: Date | null
}

/** Bans a user inside a transaction. Returns false if the user doesn't exist. */
export async function setBan(trx: AuthTransaction, record: RecordEvent, ban: Ban): Promise<boolean> {
  const { userId, reason, expiresAt, at } = ban
  const user = await lockBan(trx, userId)
  if (user === null) return false
  const columns = { banned: true, banReason: reason, banExpires: expiresAt, updatedAt: at }
  await trx.updateTable('user').set(columns).where('id', '=', userId).execute()
  record({ type: 'user.banned', ...ban, from: user.ban })
  return true
}

/**
 * Bans a user. Live streams end, and calls are rejected with 403 "Account banned" (spec section 3), for which
 * the sessions stay. Returns false if the user doesn't exist.
 */
export function banUser(
  userId: string,
  database: AnyDatabase,
  options: { now: Date; reason?: string; expires?: Date },
): Promise<boolean> {
  const { now: at, reason = null, expires: expiresAt = null } = options
  const ban = { userId, reason, expiresAt, actorId: null, at }
  return commit(database, (trx, record) => setBan(trx, record, ban))
}

/** Lifts a ban inside a transaction. Returns false if the user wasn't banned. */
export async function liftBan(trx: AuthTransaction, record: RecordEvent, unban: Unban): Promise<boolean> {
  const { userId, at } = unban
  const user = await lockBan(trx, userId)
  if (!user?.ban) return false
  const columns = { banned: false, banReason: null, banExpires: null, updatedAt: at }
  await trx.updateTable('user').set(columns).where('id', '=', userId).execute()
  record({ type: 'user.unbanned', ...unban, from: user.ban })
  return true
}

/** Locks a user, and returns the ban in the row, expired or not; null if the user doesn't exist. */
async function lockBan(trx: AuthTransaction, userId: string): Promise<{ ban: BanTerms | null } | null> {
  const user = await trx
    .selectFrom('user')
    .select(['banned', 'banReason', 'banExpires'])
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (user === undefined) return null
  const expiresAt = toNullableDate(user.banExpires)?.toISOString() ?? null
  return { ban: user.banned ? { reason: user.banReason, expiresAt } : null }
}

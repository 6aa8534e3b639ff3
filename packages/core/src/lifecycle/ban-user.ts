import type { AnyDatabase } from '../database/any-database.ts'
import type { AuthTransaction, RecordEvent } from '../database/auth-transaction.ts'
import { toNullableDate } from '../database/schema.ts'
import type { BanTerms } from '../events/event.ts'
import { commit } from './commit.ts'

interface Ban {
  readonly userId: string
  readonly reason: string | null
  /** Null is permanent. */
  readonly expiresAt: Date | null
  /** The admin who did it; null for the app's own code. */
  readonly actorId: string | null
  readonly at: Date
}

/** Bans a user inside a transaction. Returns false if the user doesn't exist. */
export async function setBan(trx: AuthTransaction, record: RecordEvent, ban: Ban): Promise<boolean> {
  const { userId, reason, expiresAt, at } = ban
  const from = await findBan(trx, userId)
  const { numUpdatedRows } = await trx
    .updateTable('user')
    .set({ banned: true, banReason: reason, banExpires: expiresAt, updatedAt: at })
    .where('id', '=', userId)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  record({ type: 'user.banned', ...ban, from })
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
export async function liftBan(
  trx: AuthTransaction,
  record: RecordEvent,
  { userId, actorId, at }: Pick<Ban, 'userId' | 'actorId' | 'at'>,
): Promise<boolean> {
  const from = await findBan(trx, userId)
  const { numUpdatedRows } = await trx
    .updateTable('user')
    .set({ banned: false, banReason: null, banExpires: null, updatedAt: at })
    .where('id', '=', userId)
    .where('banned', '=', true)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  record({ type: 'user.unbanned', userId, actorId, at, from })
  return true
}

/** Locks the user and returns the ban in the row, expired or not. */
async function findBan(trx: AuthTransaction, userId: string): Promise<BanTerms | null> {
  const user = await trx
    .selectFrom('user')
    .select(['banned', 'banReason', 'banExpires'])
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!user?.banned) return null
  return { reason: user.banReason, expiresAt: toNullableDate(user.banExpires)?.toISOString() ?? null }
}

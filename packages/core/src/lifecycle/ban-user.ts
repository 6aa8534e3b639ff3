import type { AnyDatabase } from '../database/any-database.ts'
import type { AuthTransaction, RecordEvent } from '../database/auth-transaction.ts'
import { toNullableDate } from '../database/schema.ts'
import { commit } from './commit.ts'

/** Who is banned, why and until when. */
export interface Ban {
  readonly userId: string
  readonly reason: string | null
  /** Null is for ever. */
  readonly expiresAt: Date | null
  /** The admin who did it; null when the app's own code did. */
  readonly actorId: string | null
  readonly at: Date
}

/** Bans a user inside a transaction. False when there is no such user. */
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
 * Bans a user. Their sessions stay in place, so that the next call answers 403 "Account banned" (spec section 3), and their live streams
 * end.
 *
 * @returns false when there is no such user
 */
export function banUser(
  userId: string,
  database: AnyDatabase,
  options: { now: Date; reason?: string; expires?: Date },
): Promise<boolean> {
  const { now: at, reason = null, expires: expiresAt = null } = options
  return commit(database, (trx, record) =>
    setBan(trx, record, { userId, reason, expiresAt, actorId: null, at }),
  )
}

/** Lifts a ban inside a transaction. False when the user was not banned. */
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

/** The ban that a user's row holds, expired or not; locks the row. */
async function findBan(
  trx: AuthTransaction,
  userId: string,
): Promise<{ reason: string | null; expiresAt: string | null } | null> {
  const user = await trx
    .selectFrom('user')
    .select(['banned', 'banReason', 'banExpires'])
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!user?.banned) return null
  return { reason: user.banReason, expiresAt: toNullableDate(user.banExpires)?.toISOString() ?? null }
}

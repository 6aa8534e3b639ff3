import type { AnyDatabase } from '../database/database.ts'
import { toBanEnd } from '../database/schema/kysely-tables.ts'
import type { AuthTransaction, RecordEvent } from '../database/session-database.ts'
import type { BanTerms } from '../events/event.ts'
import { commit } from './commit.ts'
import { lockUser } from './locked-sessions.ts'

/** `actorId` is the admin who does it; null for the app's code. */
interface Unban {
  readonly userId: string
  readonly actorId: string | null
  readonly at: Date
}

/** A null `expiresAt` bans permanently. */
interface Ban extends Unban {
  readonly reason: string | null
  readonly expiresAt: Date | null
}

/** Bans a user inside a transaction. Returns false if the user doesn't exist. */
export async function setBan(trx: AuthTransaction, record: RecordEvent, ban: Ban): Promise<boolean> {
  const { userId, reason: banReason, expiresAt: banExpires, at } = ban
  const from = await lockBan(trx, userId)
  if (from === undefined) return false
  const columns = { banned: true, banReason, banExpires, updatedAt: at }
  await trx.updateTable('user').set(columns).where('id', '=', userId).execute()
  record({ type: 'user.banned', ...ban, from })
  return true
}

/**
 * Bans a user: live streams end, and calls are rejected with `ACCOUNT_BANNED` (`docs/sessions.md`). The
 * sessions stay. Returns false if the user doesn't exist.
 * @param options.expires when the ban ends. @default never
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
  const from = await lockBan(trx, unban.userId)
  if (from === undefined || from === null) return false
  const columns = { banned: false, banReason: null, banExpires: null, updatedAt: unban.at }
  await trx.updateTable('user').set(columns).where('id', '=', unban.userId).execute()
  record({ type: 'user.unbanned', ...unban, from })
  return true
}

/** Locks a user, and returns the ban in the row, expired or not; undefined if the user doesn't exist. */
async function lockBan(trx: AuthTransaction, userId: string): Promise<BanTerms | null | undefined> {
  const user = await lockUser(trx, userId)
  if (user === undefined) return undefined
  if (!user.banned) return null
  return { reason: user.banReason, expiresAt: toBanEnd(user.banExpires) }
}

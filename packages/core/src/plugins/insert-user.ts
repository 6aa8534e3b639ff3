import type { AuthTransaction, RecordEvent } from '../database/session-database.ts'

interface NewUser {
  /** @default a new one */
  readonly id?: string
  readonly name: string
  readonly email: string
  readonly emailVerified: boolean
  /** @default null */
  readonly image?: string | null
  /** @default 'user' */
  readonly role?: string
  /** Who creates the user, for the records. @default null: the user, or the app's code */
  readonly actorId?: string | null
  readonly now: Date
}

/** Inserts a user, and records it. Returns the id; null if the email is taken. */
export async function insertUser(
  trx: AuthTransaction,
  record: RecordEvent,
  { id = crypto.randomUUID(), now, actorId = null, image = null, role = 'user', ...user }: NewUser,
): Promise<string | null> {
  const ban = { banned: false, banReason: null, banExpires: null }
  const created = await trx
    .insertInto('user')
    .values({ id, ...user, image, role, ...ban, createdAt: now, updatedAt: now })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (created === undefined) return null
  record({ type: 'user.created', userId: id, actorId, at: now })
  if (user.emailVerified) record({ type: 'user.verified', userId: id, actorId, at: now, email: user.email })
  return id
}

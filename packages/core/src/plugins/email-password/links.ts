import type { AuthTransaction } from '../../database/auth-transaction.ts'
import type { AuthKysely } from '../../database/schema.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import type { EmailChangedEmail, Link } from './send-email.ts'
import { withOwnTables } from './tables.ts'

const LIFETIME_MS = 7 * 24 * 60 * 60 * 1000

/** The part of the notice to the former address that carries the undo link. */
type UndoLink = Pick<EmailChangedEmail & { token: string }, 'token' | 'expiresAt'>

/** Creates a link that restores an address. Earlier ones stay valid: the first owner's is the oldest. */
export async function createUndoLink(
  trx: AuthTransaction,
  { userId, email, now }: { userId: string; email: string; now: Date },
): Promise<UndoLink> {
  const token = createSecret()
  const expiresAt = new Date(now.getTime() + LIFETIME_MS)
  const link = { id: await hashSecret(token), purpose: 'undo-email-change', userId, email } as const
  await withOwnTables(trx)
    .insertInto('verification')
    .values({ ...link, expiresAt, createdAt: now })
    .execute()
  return { token, expiresAt }
}

/** Whether an address may still be restored to another user. No other account can take it until then. */
export async function isReserved(
  db: AuthKysely,
  { email, userId, now }: { email: string; userId: string; now: Date },
): Promise<boolean> {
  const link = await withOwnTables(db)
    .selectFrom('verification')
    .select('id')
    .where('email', '=', email)
    .where('purpose', '=', 'undo-email-change')
    .where('userId', '!=', userId)
    .where('expiresAt', '>', now)
    .limit(1)
    .executeTakeFirst()
  return link !== undefined
}

/**
 * Voids the links of a user whose email change was undone, all but the undo links that are older: with those,
 * an earlier owner can still get the account back.
 */
export async function forgetLinksSince(trx: AuthTransaction, { userId, createdAt }: Link): Promise<void> {
  await withOwnTables(trx)
    .deleteFrom('verification')
    .where('userId', '=', userId)
    .where((where) =>
      where.or([where('purpose', '!=', 'undo-email-change'), where('createdAt', '>=', createdAt)]),
    )
    .execute()
}

import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../../database/session-database.ts'
import { withOwnTables } from './tables.ts'

type Link = { userId: string; provider: string }

/** Remembers that a provider was removed from a user. Call it in a change, which has locked the user. */
export async function rememberUnlinked(
  trx: AuthTransaction,
  { now: createdAt, ...link }: Link & { now: Date },
): Promise<void> {
  await withOwnTables(trx)
    .insertInto('oauthUnlinked')
    .values({ id: crypto.randomUUID(), ...link, createdAt })
    .onConflict((conflict) => conflict.columns(['userId', 'provider']).doNothing())
    .execute()
}

/** Returns whether a provider was removed from a user, who hasn't linked it again. */
export async function wasUnlinked(db: AuthKysely, { userId, provider }: Link): Promise<boolean> {
  const rows = withOwnTables(db).selectFrom('oauthUnlinked').select('id').where('userId', '=', userId)
  return (await rows.where('provider', '=', provider).executeTakeFirst()) !== undefined
}

export async function forgetUnlinked(trx: AuthTransaction, { userId, provider }: Link): Promise<void> {
  const rows = withOwnTables(trx).deleteFrom('oauthUnlinked').where('userId', '=', userId)
  await rows.where('provider', '=', provider).execute()
}

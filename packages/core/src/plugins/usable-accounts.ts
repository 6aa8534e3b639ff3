import type { AuthKysely } from '../database/schema/kysely-tables.ts'
import { toIso } from '../session/session-row.ts'

/** The provider of email and password in the table `account`. */
export const CREDENTIAL = 'credential'

/** A way to sign in. */
export interface AccountResponse {
  readonly id: string
  /** Such as `github`; `credential` is a password. */
  readonly provider: string
  /** When it was added, as ISO 8601. */
  readonly createdAt: string
}

/** Returns the password and the linked providers of a user, the oldest first, without a removed password. */
export async function usableAccounts(db: AuthKysely, userId: string): Promise<AccountResponse[]> {
  const query = db.selectFrom('account').select(['id', 'providerId', 'password', 'createdAt'])
  const accounts = await query.where('userId', '=', userId).orderBy('createdAt').orderBy('id').execute()
  return accounts
    .filter(({ providerId, password }) => providerId !== CREDENTIAL || password !== null)
    .map(({ id, providerId: provider, createdAt }) => ({ id, provider, createdAt: toIso(createdAt) }))
}

export async function hasVerifiedEmail(userId: string, db: AuthKysely): Promise<boolean> {
  const query = db.selectFrom('user').select('emailVerified').where('id', '=', userId)
  return Boolean((await query.executeTakeFirst())?.emailVerified)
}

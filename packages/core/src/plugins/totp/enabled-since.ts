import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import { withOwnTables } from './tables.ts'

/** Returns when a user set up their authenticator app; null if they haven't. */
export async function enabledSince(userId: string, db: AuthKysely): Promise<Date | null> {
  const query = withOwnTables(db).selectFrom('totp').select('confirmedAt').where('userId', '=', userId)
  const { confirmedAt = null } = (await query.executeTakeFirst()) ?? {}
  return confirmedAt === null ? null : new Date(confirmedAt)
}

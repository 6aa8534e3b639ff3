import type { AuthTransaction } from '../database/session-database.ts'

/** Ends all open sign-ins of a user, whose password or factors have changed. */
export async function deleteChallenges(trx: AuthTransaction, userId: string): Promise<void> {
  await trx.deleteFrom('sallyport.challenge').where('userId', '=', userId).execute()
}

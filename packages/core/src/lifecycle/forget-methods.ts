import type { AuthTransaction } from '../database/session-database.ts'
import { removeMethods } from '../session/authentication-methods.ts'

/** Removes methods whose factor the account no longer has from the proofs of all its sessions. */
export async function forgetMethods(
  trx: AuthTransaction,
  userId: string,
  methods: readonly string[],
): Promise<void> {
  const sessions = trx.selectFrom('session').select(['id', 'amr']).where('userId', '=', userId)
  for (const { id, amr } of await sessions.where('amr', 'is not', null).execute()) {
    const kept = removeMethods(amr, methods)
    // A user may have thousands of sessions.
    if (kept === amr) continue
    await trx.updateTable('session').set({ amr: kept }).where('id', '=', id).execute()
  }
}

import type { AuthTransaction } from '../../database/session-database.ts'
import type { SecondFactor } from '../../endpoints/endpoint.ts'
import { removeMethods } from '../../session/authentication-methods.ts'
import { hasPasskey, withOwnTables } from './tables.ts'

const METHODS = ['passkey']

export const secondFactor: SecondFactor = {
  methodsOf: async (userId, db) => ((await hasPasskey(db, userId)) ? METHODS : []),
  async remove(userId, trx) {
    await withOwnTables(trx).deleteFrom('passkeyCredential').where('userId', '=', userId).execute()
    await forgetProofs(userId, trx)
  },
}

/** Removes passkeys from the proofs of an account's sessions. */
export async function forgetProofs(userId: string, trx: AuthTransaction): Promise<void> {
  const sessions = trx.selectFrom('session').select(['id', 'amr']).where('userId', '=', userId)
  for (const { id, amr } of await sessions.where('amr', 'is not', null).execute()) {
    const kept = removeMethods(amr, METHODS)
    await trx.updateTable('session').set({ amr: kept }).where('id', '=', id).execute()
  }
}

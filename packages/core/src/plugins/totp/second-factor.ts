import type { AuthTransaction } from '../../database/session-database.ts'
import type { SecondFactor } from '../../endpoints/endpoint.ts'
import { deleteChallenges } from '../../lifecycle/delete-challenges.ts'
import { forgetMethods } from '../../lifecycle/forget-methods.ts'
import { enabledSince } from './enabled-since.ts'
import { deleteRecoveryCodes } from './recovery-codes.ts'
import { withOwnTables } from './tables.ts'
import { trustedDevices } from './trusted-device.ts'

const METHODS = ['otp', 'recovery']

export const secondFactor: SecondFactor = {
  methodsOf: async (userId, db) => ((await enabledSince(userId, db)) === null ? [] : METHODS),
  isTrusted: async (userId, context, db) => (await trustedDevices.find(userId, context, db)) !== null,
  remove: removeTotp,
}

/** Removes the factor from an account, and from the proofs of its sessions. */
export async function removeTotp(userId: string, trx: AuthTransaction): Promise<void> {
  await withOwnTables(trx).deleteFrom('totp').where('userId', '=', userId).execute()
  await deleteRecoveryCodes(trx, userId)
  await trustedDevices.forget(trx, userId)
  await deleteChallenges(trx, userId)
  await forgetMethods(trx, userId, METHODS)
}

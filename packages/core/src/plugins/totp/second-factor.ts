import type { AuthTransaction } from '../../database/session-database.ts'
import type { SecondFactor } from '../../endpoints/endpoint.ts'
import type { UndoneChange } from '../../events/event.ts'
import { deleteChallenges } from '../../lifecycle/delete-challenges.ts'
import { forgetMethods } from '../../lifecycle/forget-methods.ts'
import { enabledSince } from './enabled-since.ts'
import { sendNotice } from './notices.ts'
import { deleteRecoveryCodes } from './recovery-codes.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'
import { trustedDevices } from './trusted-device.ts'

const METHODS = ['otp', 'recovery']

export function secondFactor(settings: Settings): SecondFactor {
  return {
    methodsOf: async (userId, db) => ((await enabledSince(userId, db)) === null ? [] : METHODS),
    // If trust is turned off, also ignores browsers that were trusted before.
    isTrusted: async (userId, context, db) =>
      settings.trustedDeviceSeconds > 0 && (await trustedDevices.find(userId, context, db)) !== null,
    async remove(userId, trx) {
      const wasEnabled = await removeTotp(userId, trx)
      return {
        notify(context) {
          if (wasEnabled) sendNotice('totp-disabled', userId, { ...context, ...settings })
        },
      }
    },
  }
}

/** Removes an app or recovery codes that an attacker may have added. */
export async function removeAdded({ userId, addedSince }: UndoneChange, trx: AuthTransaction): Promise<void> {
  const db = withOwnTables(trx)
  const added = await db
    .selectFrom('totp')
    .select('userId')
    .where('userId', '=', userId)
    // The email about an app is sent when it is confirmed.
    .where(({ eb, or }) => or([eb('confirmedAt', 'is', null), eb('confirmedAt', '>=', addedSince)]))
    .executeTakeFirst()
  if (added !== undefined) await removeTotp(userId, trx)
  const codes = db.deleteFrom('recoveryCode').where('userId', '=', userId)
  await codes.where('createdAt', '>=', addedSince).execute()
}

/**
 * Removes the factor from an account, and from the proofs of its sessions. Returns whether the account had
 * it.
 */
export async function removeTotp(userId: string, trx: AuthTransaction): Promise<boolean> {
  const apps = withOwnTables(trx).deleteFrom('totp').where('userId', '=', userId)
  const app = await apps.returning('confirmedAt').executeTakeFirst()
  await deleteRecoveryCodes(trx, userId)
  await trustedDevices.forget(trx, userId)
  await deleteChallenges(trx, userId)
  await forgetMethods(trx, userId, METHODS)
  return app !== undefined && app.confirmedAt !== null
}

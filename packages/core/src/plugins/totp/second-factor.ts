import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../../database/session-database.ts'
import type { SecondFactor } from '../../endpoints/endpoint.ts'
import type { UndoneChange } from '../../events/event.ts'
import { deleteChallenges } from '../../lifecycle/delete-challenges.ts'
import { forgetMethods } from '../../lifecycle/forget-methods.ts'
import { type KnownBrowsers, knownBrowsers } from '../known-browsers.ts'
import { sendNotice } from './notices.ts'
import { deleteRecoveryCodes } from './recovery-codes.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

const METHODS = ['otp', 'recovery']

/** Browsers that sign in without a code. */
export const trustedDevices: KnownBrowsers = knownBrowsers({ table: 'trustedDevice', suffix: '-trusted' })

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

/** Returns when a user set up their authenticator app; null if they haven't. */
export async function enabledSince(userId: string, db: AuthKysely): Promise<Date | null> {
  const query = withOwnTables(db).selectFrom('totp').select('confirmedAt').where('userId', '=', userId)
  const { confirmedAt = null } = (await query.executeTakeFirst()) ?? {}
  return confirmedAt === null ? null : new Date(confirmedAt)
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

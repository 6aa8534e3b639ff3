import type { AuthTransaction } from '../../database/session-database.ts'
import type { SecondFactor } from '../../endpoints/endpoint.ts'
import type { UndoneChange } from '../../events/event.ts'
import { forgetMethods } from '../../lifecycle/forget-methods.ts'
import { sendNotice } from '../email-user.ts'
import type { Settings } from './settings.ts'
import { hasPasskey, withOwnTables } from './tables.ts'

export const METHODS: readonly string[] = ['passkey']

export function secondFactor(settings: Settings): SecondFactor {
  return {
    methodsOf: async (userId, db) => ((await hasPasskey(db, userId)) ? METHODS : []),
    isRequired: settings.requiredAtSignIn,
    async remove(userId, trx) {
      const passkeys = withOwnTables(trx).deleteFrom('passkeyCredential').where('userId', '=', userId)
      const removed = await passkeys.returning('name').execute()
      await forgetMethods(trx, userId, METHODS)
      return {
        notify(context) {
          for (const { name } of removed)
            sendNotice({ kind: 'passkey-removed', passkey: { name } }, { userId, context, settings })
        },
      }
    },
  }
}

/** Removes the passkeys that an attacker may have added. */
export async function removeAdded({ userId, addedSince }: UndoneChange, trx: AuthTransaction): Promise<void> {
  const passkeys = withOwnTables(trx).deleteFrom('passkeyCredential').where('userId', '=', userId)
  await passkeys.where('createdAt', '>=', addedSince).execute()
}

import type { SecondFactor } from '../../endpoints/endpoint.ts'
import { forgetMethods } from '../../lifecycle/forget-methods.ts'
import type { Settings } from './settings.ts'
import { hasPasskey, withOwnTables } from './tables.ts'

export const METHODS: readonly string[] = ['passkey']

export function secondFactor({ requiredAtSignIn }: Settings): SecondFactor {
  return {
    methodsOf: async (userId, db) => ((await hasPasskey(db, userId)) ? METHODS : []),
    isRequired: requiredAtSignIn,
    async remove(userId, trx) {
      await withOwnTables(trx).deleteFrom('passkeyCredential').where('userId', '=', userId).execute()
      await forgetMethods(trx, userId, METHODS)
    },
  }
}

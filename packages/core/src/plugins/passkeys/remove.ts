import * as z from 'zod/mini'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession } from '../../endpoints/renew-session.ts'
import { requireSecondFactor } from '../../endpoints/require-second-factor.ts'
import { forgetMethods } from '../../lifecycle/forget-methods.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { sendNotice } from '../email-user.ts'
import { requireWayIn } from '../require-way-in.ts'
import { credentialId } from './responses.ts'
import { METHODS } from './second-factor.ts'
import { passkeyError, type Settings } from './settings.ts'
import { hasPasskey, withOwnTables } from './tables.ts'

export interface RemovePasskeyInput {
  id: string
  /** @default true */
  revokeOtherSessions?: boolean
}

/** Removes one of the caller's passkeys, and replaces this session's credentials. */
export function removePasskey(settings: Settings): Endpoint<RemovePasskeyInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.removePasskey,
    caller: 'fresh-user',
    setsCookies: true,
    input: z.strictObject({ id: credentialId, revokeOtherSessions: z.exactOptional(z.boolean()) }),
    output: tokens,
    async run({ id, revokeOtherSessions = true }, context) {
      await requireSecondFactor(context)
      const { userId } = context.identity
      let name = ''
      const work = async (trx: AuthTransaction, record: RecordEvent) => {
        await requireSecondFactor(context, trx)
        name = await deletePasskey({ id, userId }, trx)
        await requireWayIn(userId, trx, context)
        const detail = { passkeyId: id, name }
        record({ type: 'passkeys:removed', userId, actorId: null, at: context.config.now(), detail })
      }
      const renewed = await renewSession(context, {
        cause: 'factor-removed',
        revokeOthers: revokeOtherSessions && 'factor-changed',
        work,
      })
      sendNotice({ kind: 'passkey-removed', passkey: { name } }, { userId, context, settings })
      return renewed
    },
  })
}

/**
 * Deletes a passkey, and returns its name. Call it in a change, which has locked the user.
 * @throws EndpointError `PASSKEY_NOT_FOUND`
 */
async function deletePasskey(
  { id, userId }: { id: string; userId: string },
  trx: AuthTransaction,
): Promise<string> {
  const statement = withOwnTables(trx).deleteFrom('passkeyCredential').where('id', '=', id)
  const removed = await statement.where('userId', '=', userId).returning('name').executeTakeFirst()
  if (removed === undefined) throw passkeyError('PASSKEY_NOT_FOUND')
  if (!(await hasPasskey(trx, userId))) await forgetMethods(trx, userId, METHODS)
  return removed.name
}

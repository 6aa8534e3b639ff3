import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done, id } from '../../endpoints/plain-schemas.ts'
import { reject } from '../../protocol/endpoint-error.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { refuseAdmin } from './reasons.ts'
import type { AdminOptions, FreshAdmin } from './settings.ts'

/**
 * Gives a user a role. It counts from the next call, as every call reads the row. Nobody changes their own, so that there is always an
 * admin left: whoever calls is one, and is read again in the transaction of the change.
 */
export function setRole(
  { roles = ['user', 'admin'] }: AdminOptions,
  fresh: FreshAdmin,
): Endpoint<{ userId: string; role: string }, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.setRole,
    caller: fresh.caller,
    freshForSeconds: fresh.freshForSeconds,
    input: z.strictObject({ userId: id, role: z.string().refine((role) => roles.includes(role)) }),
    output: done,
    async run({ userId, role }, { identity, config, change }) {
      if (userId === identity.userId) throw refuseAdmin('OWN_ACCOUNT')
      const at = config.now()
      await change(async (trx, record) => {
        const user = await trx
          .selectFrom('user')
          .select('role')
          .where('id', '=', userId)
          .forNoKeyUpdate()
          .executeTakeFirst()
        if (user === undefined) throw reject('USER_NOT_FOUND')
        await trx.updateTable('user').set({ role, updatedAt: at }).where('id', '=', userId).execute()
        const actorId = identity.userId
        record({ type: 'user.role-changed', userId, from: user.role, to: role, actorId, at })
      })
      return { body: { success: true } }
    },
  })
}

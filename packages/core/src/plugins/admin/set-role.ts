import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done, id } from '../../endpoints/plain-schemas.ts'
import { reject } from '../../protocol/endpoint-error.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { type AdminOptions, adminError, type FreshAdmin } from './settings.ts'

/**
 * Gives a user a role, effective from their next call. Admins can't change their own, so at least one admin
 * remains: the transaction re-reads the caller.
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
    async run({ userId, role }, { identity: { userId: actorId }, config, change }) {
      if (userId === actorId) throw adminError('OWN_ACCOUNT')
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
        record({ type: 'user.role-changed', userId, from: user.role, to: role, actorId, at })
      })
      return { body: { success: true } }
    },
  })
}

import * as z from 'zod'
import { refuse } from '../../endpoint-error.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done, id } from '../../endpoints/plain-schemas.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { refuseAdmin } from './reasons.ts'

/** Which roles there are. */
export interface RoleOptions {
  /** @default ['user', 'admin'] */
  readonly roles?: readonly string[]
}

/**
 * Gives a user a role. It counts from the next call, as every call reads the row. Nobody changes their own, so that there is always an
 * admin left: whoever calls is one, and is read again in the transaction of the change.
 */
export function setRole({
  roles = ['user', 'admin'],
}: RoleOptions): Endpoint<{ userId: string; role: string }, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.setRole,
    caller: 'admin',
    input: z.strictObject({ userId: id, role: z.string().refine((role) => roles.includes(role)) }),
    output: done,
    async run({ userId, role }, { identity, config, change }) {
      if (userId === identity.userId) throw refuseAdmin('OWN_ACCOUNT')
      const at = config.now()
      await change(async (trx, record) => {
        const { numUpdatedRows } = await trx
          .updateTable('user')
          .set({ role, updatedAt: at })
          .where('id', '=', userId)
          .executeTakeFirst()
        if (numUpdatedRows === 0n) throw refuse('USER_NOT_FOUND')
        record({ type: 'user.role-changed', userId, role, actorId: identity.userId, at })
      })
      return { body: { success: true } }
    },
  })
}

import * as z from 'zod'
import type { AuthTransaction, RecordEvent } from '../../database/auth-transaction.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession } from '../../endpoints/renew-session.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { setPassword } from './accounts.ts'
import { confirmPassword } from './confirm-password.ts'
import { forgetDevices, readDevice } from './known-device.ts'
import { givenPassword, newPassword } from './password.ts'
import { forgetLinks } from './send-email.ts'
import { hashNewPassword, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** What `POST /change-password` takes. */
export interface ChangePasswordInput {
  currentPassword: string
  newPassword: string
  /** @default true */
  revokeOtherSessions?: boolean
}

/**
 * Changes the password of the caller and replaces the credentials of this session, so a copy of the old ones
 * is useless. Ends the caller's other sessions, unless `revokeOtherSessions` is false.
 */
export function changePassword({
  limits,
  sendEmail,
  ...rules
}: Settings): Endpoint<ChangePasswordInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.changePassword,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({
      currentPassword: givenPassword,
      newPassword,
      revokeOtherSessions: z.boolean().exactOptional(),
    }),
    output: tokens,
    async run({ currentPassword, newPassword, revokeOtherSessions = true }, context) {
      const { identity, session, config } = context
      const { userId, sessionId } = identity
      await confirmPassword(currentPassword, context, limits)
      const now = config.now()
      const { onEvent } = context.database
      const password = await hashNewPassword(newPassword, { user: session.user, rules, now, onEvent })
      const device = await readDevice(context)
      const work = async (trx: AuthTransaction, record: RecordEvent) => {
        await setPassword(trx, { userId, password, now })
        if (revokeOtherSessions) {
          const ending = { cause: 'password-changed', actorId: null, at: now } as const
          await deleteSessions(trx, record, { userId, exceptId: sessionId, ...ending })
        }
        await forgetLinks(withOwnTables(trx), { userId, kinds: ['reset-password'] })
        await forgetDevices(withOwnTables(trx), { userId, except: device })
        record({ type: 'user.password-changed', userId, actorId: null, at: now })
      }
      const renewed = await renewSession(context, { cause: 'password-changed', work })
      if (sendEmail !== undefined) {
        const { id, name, email } = session.user
        context.later(() => sendEmail({ kind: 'password-changed', to: email, user: { id, name, email } }))
      }
      return renewed
    },
  })
}

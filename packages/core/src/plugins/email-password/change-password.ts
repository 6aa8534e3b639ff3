import * as z from 'zod'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession } from '../../endpoints/renew-session.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { setPassword } from './accounts.ts'
import { deleteDevices, readDevice } from './known-device.ts'
import { deleteLinks } from './links.ts'
import { givenPassword, newPassword } from './password.ts'
import { confirmPassword } from './reauthenticate.ts'
import { hashNewPassword, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

export interface ChangePasswordInput {
  currentPassword: string
  newPassword: string
  /** @default true */
  revokeOtherSessions?: boolean
}

/**
 * Changes the caller's password and replaces the credentials of this session, so a copy of the old ones is
 * useless. Ends the caller's other sessions, unless `revokeOtherSessions` is false.
 */
export function changePassword(settings: Settings): Endpoint<ChangePasswordInput, TokenResponse, true> {
  const { limits, sendEmail } = settings
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
      const { sessionId } = context.identity
      const { id: userId, name, email } = context.session.user
      const user = { id: userId, name, email }
      await confirmPassword(currentPassword, context, limits)
      const now = context.config.now()
      const { onEvent } = context.database
      const password = await hashNewPassword(newPassword, { user, rules: settings, now, onEvent })
      const device = await readDevice(context)
      const work = async (trx: AuthTransaction, record: RecordEvent) => {
        await setPassword(trx, { userId, password, now })
        if (revokeOtherSessions) {
          const ending = { cause: 'password-changed', actorId: null, at: now } as const
          await deleteSessions(trx, record, { userId, exceptId: sessionId, ...ending })
        }
        await deleteLinks(withOwnTables(trx), { userId, kinds: ['reset-password'] })
        await deleteDevices(withOwnTables(trx), { userId, except: device })
        record({ type: 'user.password-changed', userId, actorId: null, at: now })
      }
      const renewed = await renewSession(context, { cause: 'password-changed', work })
      if (sendEmail !== undefined)
        context.later(() => sendEmail({ kind: 'password-changed', to: email, user }))
      return renewed
    },
  })
}

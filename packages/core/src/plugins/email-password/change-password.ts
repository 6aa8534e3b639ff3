import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { answerNewSecret } from '../../endpoints/issue-tokens.ts'
import { newSecret } from '../../endpoints/plain-schemas.ts'
import { ENDPOINTS, type NewSecretResponse } from '../../protocol.ts'
import { rotateSecret } from '../../session/confirm-session.ts'
import { deleteSessions } from '../../session/end-session.ts'
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

/** Changes the password of the caller and ends their other sessions, unless they say otherwise. */
export function changePassword({
  limits,
  sendEmail,
}: Settings): Endpoint<ChangePasswordInput, NewSecretResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.changePassword,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({
      currentPassword: givenPassword,
      newPassword,
      revokeOtherSessions: z.boolean().exactOptional(),
    }),
    output: newSecret,
    async run({ currentPassword, newPassword, revokeOtherSessions = true }, context) {
      const { identity, session, sessionCookie, config, change } = context
      const { userId, sessionId } = identity
      await confirmPassword(currentPassword, context, limits)
      const password = await hashNewPassword(newPassword, session.user.email)
      const device = await readDevice(context)
      const now = config.now()
      const rotated = await change(async (trx, record) => {
        await setPassword(trx, { userId, password, now })
        if (revokeOtherSessions) {
          const ending = { cause: 'password-changed', actorId: null, at: now } as const
          await deleteSessions(trx, record, { userId, exceptId: sessionId, ...ending })
        }
        await forgetLinks(withOwnTables(trx), { userId, kinds: ['reset-password'] })
        await forgetDevices(withOwnTables(trx), { userId, except: device })
        record({ type: 'user.password-changed', userId, actorId: null, at: now })
        // Someone may have a copy of the cookie: it must neither go on nor become fresh.
        return rotateSecret(trx, { sessionId, sessionCookie, now, former: 'ends' })
      })
      if (sendEmail !== undefined) {
        const { id, name, email } = session.user
        context.later(() => sendEmail({ kind: 'password-changed', to: email, user: { id, name, email } }))
      }
      return answerNewSecret(rotated, context)
    },
  })
}

import * as z from 'zod'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import { type AuthorizedContext, defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession, requireSessionSecret } from '../../endpoints/renew-session.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { findPasswordAccount, setPassword } from './accounts.ts'
import { countConfirmation } from './attempts.ts'
import { deleteDevices, readDevice } from './known-device.ts'
import { deleteLinks } from './links.ts'
import { givenPassword, newPassword, verifyPassword } from './password.ts'
import { type AttemptLimits, emailPasswordError, hashNewPassword, type Settings } from './settings.ts'
import { recordFailure } from './sign-in.ts'

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
        await deleteLinks(trx, { userId, kinds: ['reset-password'] })
        await deleteDevices(trx, { userId, except: device })
        record({ type: 'user.password-changed', userId, actorId: null, at: now })
      }
      const renewed = await renewSession(context, { cause: 'password-changed', work })
      if (sendEmail !== undefined)
        context.later(() => sendEmail({ kind: 'password-changed', to: email, user }))
      return renewed
    },
  })
}

/** Makes a session fresh. Replaces its credentials, so only the caller's are fresh. The session id stays. */
export function reauthenticate({ limits }: Settings): Endpoint<{ password: string }, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.reauthenticate,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({ password: givenPassword }),
    output: tokens,
    async run({ password }, context) {
      await confirmPassword(password, context, limits)
      return renewSession(context, { cause: 'reauthenticated' })
    },
  })
}

/** @throws EndpointError `SESSION_SECRET_REQUIRED` before the password is verified, or `INVALID_CREDENTIALS` */
async function confirmPassword(
  password: string,
  context: AuthorizedContext,
  limits: AttemptLimits,
): Promise<void> {
  const { userId } = context.identity
  await requireSessionSecret(context)
  await countConfirmation(context, limits)
  const now = context.config.now()
  const account = await findPasswordAccount(context.database.db, { column: 'user.id', value: userId, now })
  if (await verifyPassword(password, account?.password ?? null, 'known')) return
  await recordFailure(userId, 'INVALID_CREDENTIALS', context)
  throw emailPasswordError('INVALID_CREDENTIALS')
}

import * as z from 'zod/mini'
import type { AuthTransaction } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done, oneTimeToken } from '../../endpoints/plain-schemas.ts'
import { hasSecondFactor } from '../../endpoints/require-second-factor.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { findUser, selectUser } from '../email-user.ts'
import { emailAddress } from '../internal.ts'
import { setPassword } from './accounts.ts'
import { countAddress, countEmail, countEmailOfDevice } from './attempts.ts'
import { devices } from './known-device.ts'
import { consumeLink, createLink, deleteLinks, deleteOldLinks, findLink } from './links.ts'
import { newPassword } from './password.ts'
import { emailPasswordError, hashNewPassword, requireEmail, type Settings } from './settings.ts'

/** Sends a link that sets a new password. The response doesn't reveal whether there is such an account. */
export function requestPasswordReset(
  settings: Settings,
): Endpoint<{ email: string }, SuccessResponse, false> {
  const { limits } = settings
  return defineEndpoint({
    ...ENDPOINTS.requestPasswordReset,
    caller: 'anyone',
    input: z.strictObject({ email: emailAddress }),
    output: done,
    async run({ email }, context) {
      const sendEmail = requireEmail(settings.sendEmail)
      if (!(await countEmailOfDevice(email, context, limits))) {
        await countAddress(context, limits)
        if (!(await countEmail(email, context, limits))) return { body: { success: true } }
      }
      const user = await findUser(context.database.db, { email })
      const now = context.config.now()
      // After the response, so its time reveals no more than its bytes. The next request may wait for this
      // work, so as much is written without an account.
      context.later(async () => {
        const link = await context.change(async (trx, record) => {
          record({ type: 'recovery.requested', userId: user?.id ?? null, at: now })
          if (user !== undefined) return createLink(trx, { kind: 'reset-password', to: email, user, now })
          await writePlaceholder(trx, now)
          return null
        })
        if (link !== null) await sendEmail(link)
      })
      return { body: { success: true } }
    },
  })
}

/** Writes about as much as {@link createLink}, to a table that is pruned. */
async function writePlaceholder(trx: AuthTransaction, now: Date): Promise<void> {
  const key = `placeholder:${await hashSecret(createSecret())}`
  await lockUsers(trx, [key])
  await deleteOldLinks(trx, { userId: key, kind: 'reset-password' })
  await trx.insertInto('sallyport.rate_limit').values({ key, points: 0, expire: now.getTime() }).execute()
}

/** The `token` of the link, and the password to set. */
export type ResetPasswordInput = { token: string; newPassword: string }

/** Sets a password with a link that was sent by email, and ends all sessions of the user. */
export function resetPassword(settings: Settings): Endpoint<ResetPasswordInput, SuccessResponse, false> {
  const { limits, sendEmail } = settings
  return defineEndpoint({
    ...ENDPOINTS.resetPassword,
    caller: 'anyone',
    input: z.strictObject({ token: oneTimeToken, newPassword }),
    output: done,
    async run({ token, newPassword }, context) {
      await countAddress(context, limits)
      const now = context.config.now()
      const { db, onEvent } = context.database
      const link = { token, kinds: ['reset-password'], now } as const
      const { userId: id, email } = await findLink(db, link)
      const chosenBy = { id, email, name: (await findUser(db, { id }))?.name ?? '' }
      const password = await hashNewPassword(newPassword, { user: chosenBy, rules: settings, now, onEvent })
      const user = await context.change(async (trx, record) => {
        const { userId, email } = await consumeLink(trx, link)
        const found = await selectUser(trx, { id: userId }).select('emailVerified').executeTakeFirst()
        // The account's email has changed since the link was sent: the old mailbox must not reset it.
        if (found?.email !== email) throw emailPasswordError('LINK_INVALID')
        const { emailVerified, ...user } = found
        const wasVerified = Boolean(emailVerified)
        // Before the factors, which would be removed from the proofs of each session.
        await deleteSessions(trx, record, { userId, cause: 'password-reset', at: now })
        // The link proves that the user reads the mail of this address. A stranger may have registered it:
        // their passkeys and providers end. If sign-in needs a factor, it stays, and the address unverified.
        const { secondFactors } = context
        const isVerified = wasVerified || !(await hasSecondFactor(userId, trx, secondFactors))
        const changed = { emailVerified: isVerified, updatedAt: now }
        await trx.updateTable('user').set(changed).where('id', '=', userId).execute()
        if (isVerified && !wasVerified) {
          for (const factor of secondFactors) await factor.remove(userId, trx)
          await trx.deleteFrom('account').where('userId', '=', userId).execute()
          record({ type: 'user.verified', userId, actorId: null, email, at: now })
        }
        await setPassword(trx, { userId, password, now })
        await deleteLinks(trx, { userId, kinds: ['reset-password', 'change-email'] })
        await devices.forget(trx, userId)
        record({ type: 'user.password-changed', userId, actorId: null, at: now })
        return user
      })
      if (sendEmail !== undefined)
        context.later(() => sendEmail({ kind: 'password-changed', to: user.email, user }))
      return { body: { success: true } }
    },
  })
}

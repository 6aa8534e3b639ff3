import * as z from 'zod'
import type { AuthTransaction } from '../../database/auth-transaction.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done } from '../../endpoints/plain-schemas.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { lockUsers } from '../../lifecycle/lock-user.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { setPassword } from './accounts.ts'
import { countAddress, countEmail, countEmailOfDevice } from './attempts.ts'
import { emailAddress } from './email-address.ts'
import { forgetDevices } from './known-device.ts'
import { newPassword } from './password.ts'
import { refuseEmailPassword } from './reasons.ts'
import { createLink, findLink, forgetLinks, forgetOldLinks, requireEmail, takeLink } from './send-email.ts'
import { hashNewPassword, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** Sends a link by which a password can be set, if there is such an account. The answer does not tell. */
export function requestPasswordReset(
  settings: Settings,
): Endpoint<{ email: string }, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.requestPasswordReset,
    caller: 'anyone',
    input: z.strictObject({ email: emailAddress }),
    output: done,
    async run({ email }, context) {
      const sendEmail = requireEmail(settings.sendEmail)
      const { limits } = settings
      if (!(await countEmailOfDevice(email, context, limits))) {
        await countAddress(context, limits)
        if (!(await countEmail(email, context, limits))) return { body: { success: true } }
      }
      const user = await context.database.db
        .selectFrom('user')
        .select(['id', 'name', 'email'])
        .where('email', '=', email)
        .executeTakeFirst()
      const now = context.config.now()
      // After the answer, so that its time tells no more than its bytes. The request that comes next waits for it, so where
      // there is no account as much is written.
      context.later(async () => {
        const request = { type: 'recovery.requested', userId: user?.id ?? null, at: now } as const
        if (user === undefined)
          return context.change((trx, record) => {
            record(request)
            return pretendLink(trx, now)
          })
        const link = { kind: 'reset-password', to: email, user, now } as const
        const created = await context.change((trx, record) => {
          record(request)
          return createLink(trx, link)
        })
        await sendEmail(created)
      })
      return { body: { success: true } }
    },
  })
}

/** Writes about as much as `createLink`, to a table that forgets it. */
async function pretendLink(trx: AuthTransaction, now: Date): Promise<void> {
  const key = `nobody:${await hashSecret(createSecret())}`
  await lockUsers(trx, [key])
  await forgetOldLinks(withOwnTables(trx), { userId: key, kind: 'reset-password' })
  await trx.insertInto('rateLimit').values({ key, points: 0, expire: now.getTime() }).execute()
}

/** What `POST /reset-password` takes. */
export interface ResetPasswordInput {
  /** From the link. */
  token: string
  newPassword: string
}

/** Sets a password for whoever received the link, and ends all sessions of that user. */
export function resetPassword({
  limits,
  sendEmail,
  ...rules
}: Settings): Endpoint<ResetPasswordInput, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.resetPassword,
    caller: 'anyone',
    input: z.strictObject({ token: z.string().min(1).max(128), newPassword }),
    output: done,
    async run({ token, newPassword }, context) {
      await countAddress(context, limits)
      const now = context.config.now()
      const { db, onEvent } = context.database
      const link = await findLink(db, { token, kinds: ['reset-password'], now })
      const { name = '' } =
        (await db.selectFrom('user').select('name').where('id', '=', link.userId).executeTakeFirst()) ?? {}
      const chosenBy = { id: link.userId, name, email: link.email }
      const password = await hashNewPassword(newPassword, { user: chosenBy, rules, now, onEvent })
      const user = await context.change(async (trx, record) => {
        const { userId, email } = await takeLink(trx, { token, kinds: ['reset-password'], now })
        const before = await trx
          .selectFrom('user')
          .select('emailVerified')
          .where('id', '=', userId)
          .executeTakeFirst()
        const user = await trx
          .updateTable('user')
          // Whoever has the link reads the mail of that address.
          .set({ emailVerified: true, updatedAt: now })
          .where('id', '=', userId)
          .where('email', '=', email)
          .returning(['id', 'name', 'email'])
          .executeTakeFirst()
        // The email has been changed since the link was asked for: its mailbox no longer speaks for the account.
        if (user === undefined) throw refuseEmailPassword('LINK_INVALID')
        if (!before?.emailVerified) record({ type: 'user.verified', userId, actorId: null, email, at: now })
        await setPassword(trx, { userId, password, now })
        await deleteSessions(trx, record, { userId, cause: 'password-reset', actorId: null, at: now })
        await forgetLinks(withOwnTables(trx), { userId, kinds: ['reset-password', 'change-email'] })
        await forgetDevices(withOwnTables(trx), { userId, except: null })
        record({ type: 'user.password-changed', userId, actorId: null, at: now })
        return user
      })
      if (sendEmail !== undefined)
        context.later(() => sendEmail({ kind: 'password-changed', to: user.email, user }))
      return { body: { success: true } }
    },
  })
}

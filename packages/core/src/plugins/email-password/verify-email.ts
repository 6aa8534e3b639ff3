import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done, noFields } from '../../endpoints/plain-schemas.ts'
import type { AuthTransaction } from '../../events/change.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { countAddress, countEmail } from './attempts.ts'
import { emailAddress } from './email-address.ts'
import { refuseEmailPassword } from './reasons.ts'
import { createLink, type EmailUser, forgetLinks, requireEmail, takeLink } from './send-email.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** Sends the caller a link by which they prove that their email address is theirs. */
export function sendVerificationEmail(settings: Settings): Endpoint<object, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.sendVerificationEmail,
    caller: 'user',
    input: noFields,
    output: done,
    async run(_input, context) {
      const sendEmail = requireEmail(settings.sendEmail)
      const { config, change, later } = context
      const { id, name, email } = context.session.user
      await countAddress(context, settings.limits)
      await countEmail(email, context, settings.limits)
      const draft = { kind: 'verify-email', to: email, user: { id, name, email }, now: config.now() } as const
      const link = await change((trx) => createLink(trx, draft))
      later(() => sendEmail(link))
      return { body: { success: true } }
    },
  })
}

/**
 * Sends a link to the address that the caller wants to have from now on; until it is used, nothing changes. The answer does not tell whether
 * another account has that address.
 */
export function changeEmail(settings: Settings): Endpoint<{ newEmail: string }, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.changeEmail,
    caller: 'fresh-user',
    input: z.strictObject({ newEmail: emailAddress }),
    output: done,
    async run({ newEmail }, context) {
      const sendEmail = requireEmail(settings.sendEmail)
      const { config, change, later } = context
      const { id, name, email } = context.session.user
      await countAddress(context, settings.limits)
      await countEmail(newEmail, context, settings.limits)
      const draft = {
        kind: 'change-email',
        to: newEmail,
        user: { id, name, email },
        now: config.now(),
      } as const
      const { link, taken } = await change(async (trx) => ({
        // Made in any case, so that the time of the answer tells no more than its bytes.
        link: await createLink(trx, draft),
        taken: await trx.selectFrom('user').select('id').where('email', '=', newEmail).executeTakeFirst(),
      }))
      if (taken === undefined) later(() => sendEmail(link))
      return { body: { success: true } }
    },
  })
}

/** Uses a link that proves an email address, of the account as it is or as it is to be. Whoever has it reads the mail of that address. */
export function verifyEmail({
  limits,
  sendEmail,
}: Settings): Endpoint<{ token: string }, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.verifyEmail,
    caller: 'anyone',
    input: z.strictObject({ token: z.string().min(1).max(128) }),
    output: done,
    async run({ token }, context) {
      await countAddress(context, limits)
      const now = context.config.now()
      const formerUser = await context.change(async (trx, record) => {
        const link = await takeLink(trx, { token, kinds: ['verify-email', 'change-email'], now })
        if (link.kind === 'verify-email') {
          await markVerified(trx, { ...link, now })
          return null
        }
        const former = await moveToEmail(trx, { ...link, now })
        record({ type: 'user.email-changed', userId: link.userId, actorId: null, at: now })
        return former
      })
      if (sendEmail !== undefined && formerUser !== null)
        context.later(() => sendEmail({ kind: 'email-changed', to: formerUser.email, user: formerUser }))
      return { body: { success: true } }
    },
  })
}

interface ProvedEmail {
  readonly userId: string
  readonly email: string
  readonly now: Date
}

/** Not where the address has been changed since the link was sent. */
async function markVerified(trx: AuthTransaction, { userId, email, now }: ProvedEmail): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('user')
    .set({ emailVerified: true, updatedAt: now })
    .where('id', '=', userId)
    .where('email', '=', email)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw refuseEmailPassword('LINK_INVALID')
}

/** In PostgreSQL someone may have taken the address since we looked. */
function refuseTaken(error: unknown): never {
  const isTaken = error instanceof Error && 'code' in error && error.code === '23505'
  throw isTaken ? refuseEmailPassword('EMAIL_TAKEN') : error
}

/** Returns the user as they were. Links that were sent to the old address no longer count. */
async function moveToEmail(trx: AuthTransaction, { userId, email, now }: ProvedEmail): Promise<EmailUser> {
  const taken = await trx.selectFrom('user').select('id').where('email', '=', email).executeTakeFirst()
  if (taken !== undefined) throw refuseEmailPassword('EMAIL_TAKEN')
  const former = await trx
    .selectFrom('user')
    .select(['id', 'name', 'email'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  await trx
    .updateTable('user')
    .set({ email, emailVerified: true, updatedAt: now })
    .where('id', '=', userId)
    .execute()
    .catch(refuseTaken)
  await forgetLinks(withOwnTables(trx), { userId, kinds: ['reset-password', 'verify-email'] })
  return former
}

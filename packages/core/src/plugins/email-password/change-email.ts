import * as z from 'zod/mini'
import type { AuthTransaction } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done, oneTimeToken } from '../../endpoints/plain-schemas.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { isDuplicate } from '../../session/conflict.ts'
import { type EmailUser, findUser, selectUser } from '../email-user.ts'
import { emailAddress } from '../internal.ts'
import { removePassword } from './accounts.ts'
import { countAddress, countEmail, countOwnEmail } from './attempts.ts'
import { devices } from './known-device.ts'
import { consumeLink, createLink, deleteLinks, deleteLinksSince, insertLink, isReserved } from './links.ts'
import type { EmailChangedEmail } from './send-email.ts'
import { emailPasswordError, requireEmail, type Settings } from './settings.ts'

/**
 * An attacker may add a passkey before changing the email. What is older stays: the owner got an email about
 * it.
 */
const SUSPECT_BEFORE_MS = 24 * 60 * 60 * 1000

/** Sends a link to the new address. The response doesn't reveal whether another account has that address. */
export function changeEmail(settings: Settings): Endpoint<{ newEmail: string }, SuccessResponse, false> {
  const { limits, undoEmailChange } = settings
  return defineEndpoint({
    ...ENDPOINTS.changeEmail,
    caller: 'fresh-user',
    input: z.strictObject({ newEmail: emailAddress }),
    output: done,
    async run({ newEmail }, context) {
      const sendEmail = requireEmail(settings.sendEmail)
      const { id, name, email } = context.session.user
      await countOwnEmail(id, context, limits)
      // Others may have used up the budget of the new address. Respond as for a taken one.
      if (!(await countEmail(newEmail, context, limits))) return { body: { success: true } }
      const now = context.config.now()
      const { link, isFree } = await context.change(async (trx, record) => {
        const request = { userId: id, actorId: null, from: email, to: newEmail, at: now }
        record({ type: 'user.email-change-requested', ...request })
        const draft = { kind: 'change-email', to: newEmail, user: { id, name, email }, now } as const
        // Always created: otherwise the time of the response would reveal whether the address is taken.
        const link = await createLink(trx, draft)
        const taken = (await findUser(trx, { email: newEmail })) !== undefined
        const reserved = undoEmailChange && (await isReserved(trx, { email: newEmail, userId: id, now }))
        return { link, isFree: !taken && !reserved }
      })
      if (isFree) context.later(() => sendEmail(link))
      return { body: { success: true } }
    },
  })
}

/**
 * Undoes a change of the email with the link that the former address received. Ends all sessions, voids the
 * other links, and removes the password. Plugins remove what was added later than 24 hours before the change.
 * Sends a reset link to the restored address.
 */
export function undoEmailChange(settings: Settings): Endpoint<{ token: string }, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.undoEmailChange,
    caller: 'anyone',
    input: z.strictObject({ token: oneTimeToken }),
    output: done,
    async run({ token }, context) {
      const sendEmail = requireEmail(settings.sendEmail)
      await countAddress(context, settings.limits)
      if (!settings.undoEmailChange) throw emailPasswordError('LINK_INVALID')
      const now = context.config.now()
      const { replaced, reset } = await context.change(async (trx, record) => {
        const link = await consumeLink(trx, { token, kinds: ['undo-email-change'], now })
        const { userId, email } = link
        const current = await findUser(trx, { id: userId })
        // The user may have changed it back already.
        const isBack = current?.email === email
        const replaced = isBack ? current : (await moveToEmail(trx, { userId, email, now })).former
        await removePassword(trx, { userId, now })
        await deleteSessions(trx, record, { userId, cause: 'email-change-undone', at: now })
        await deleteLinksSince(trx, link)
        await devices.forget(trx, userId)
        const addedSince = new Date(link.createdAt.getTime() - SUSPECT_BEFORE_MS)
        const change = { from: replaced.email, to: email, addedSince }
        record({ type: 'user.email-change-undone', userId, actorId: null, at: now, ...change })
        const draft = { kind: 'reset-password', to: email, user: { ...replaced, email }, now } as const
        return { replaced, reset: await createLink(trx, draft) }
      })
      context.later(() => sendEmail(reset))
      const notice = { kind: 'email-changed', to: replaced.email, user: replaced } as const
      if (replaced.email !== reset.to)
        context.later(() => sendEmail({ ...notice, token: null, expiresAt: null }))
      return { body: { success: true } }
    },
  })
}

export type VerifiedEmail = { userId: string; email: string; now: Date }

type Moved = { former: EmailUser; wasVerified: boolean }

/** Changes an email, and deletes the links to the former address. @throws EndpointError `EMAIL_TAKEN` */
export async function moveToEmail(trx: AuthTransaction, move: VerifiedEmail): Promise<Moved> {
  const { userId, email, now } = move
  if ((await findUser(trx, { email })) !== undefined) throw emailPasswordError('EMAIL_TAKEN')
  const { emailVerified, ...former } = await selectUser(trx, { id: userId })
    .select('emailVerified')
    .executeTakeFirstOrThrow()
  await trx
    .updateTable('user')
    .set({ email, emailVerified: true, updatedAt: now })
    .where('id', '=', userId)
    .execute()
    .catch((error: unknown) => {
      // In PostgreSQL another transaction may have taken the address since it was looked up.
      throw isDuplicate(error) ? emailPasswordError('EMAIL_TAKEN') : error
    })
  await deleteLinks(trx, { userId, kinds: ['reset-password', 'verify-email'] })
  return { former, wasVerified: Boolean(emailVerified) }
}

/** Adds an undo link only if the former address was verified: otherwise it may belong to someone else. */
export async function createNotice(
  trx: AuthTransaction,
  { former, wasVerified, undoEmailChange, now }: Moved & { undoEmailChange: boolean; now: Date },
): Promise<EmailChangedEmail> {
  const { id: userId, email } = former
  const notice = { kind: 'email-changed', to: email, user: former } as const
  if (!undoEmailChange || !wasVerified) return { ...notice, token: null, expiresAt: null }
  return { ...notice, ...(await insertLink(trx, { purpose: 'undo-email-change', userId, email, now })) }
}

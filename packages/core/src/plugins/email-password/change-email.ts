import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done } from '../../endpoints/plain-schemas.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { findUser, removePassword } from './accounts.ts'
import { countAddress } from './attempts.ts'
import { deleteDevices } from './known-device.ts'
import { consumeLink, createLink, deleteLinksSince } from './links.ts'
import { emailPasswordError } from './reasons.ts'
import { requireEmail } from './send-email.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'
import { moveToEmail } from './verify-email.ts'

/**
 * Undoes a change of the email with the link that the former address received. Restores the address, ends all
 * sessions, voids the other links, and removes the password. A reset link goes to the restored address.
 */
export function undoEmailChange(settings: Settings): Endpoint<{ token: string }, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.undoEmailChange,
    caller: 'anyone',
    input: z.strictObject({ token: z.string().min(1).max(128) }),
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
        const ending = { cause: 'email-change-undone', actorId: null, at: now } as const
        await deleteSessions(trx, record, { userId, ...ending })
        await deleteLinksSince(trx, link)
        await deleteDevices(withOwnTables(trx), { userId, except: null })
        const change = { from: replaced.email, to: email }
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

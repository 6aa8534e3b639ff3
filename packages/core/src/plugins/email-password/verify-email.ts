import * as z from 'zod'
import type { AuthTransaction } from '../../database/auth-transaction.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from '../../endpoints/endpoint.ts'
import { prepareTokens } from '../../endpoints/issue-tokens.ts'
import { done, noFields, verifiedEmail } from '../../endpoints/plain-schemas.ts'
import { countVersionChange, hasSecretOf } from '../../endpoints/renew-session.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { replaceCredentials } from '../../lifecycle/replace-credentials.ts'
import { ENDPOINTS, type SuccessResponse, type VerifyEmailResponse } from '../../protocol.ts'
import { countAddress, countEmail, countOwnEmail } from './attempts.ts'
import { emailAddress } from './email-address.ts'
import { refuseEmailPassword } from './reasons.ts'
import {
  createLink,
  type EmailChangedEmail,
  type EmailUser,
  findLink,
  forgetLinks,
  requireEmail,
  takeLink,
} from './send-email.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'
import { createUndoLink, isReserved } from './undo-link.ts'

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
      await countOwnEmail(email, context, settings.limits)
      const draft = { kind: 'verify-email', to: email, user: { id, name, email }, now: config.now() } as const
      const link = await change((trx, record) => {
        record({ type: 'verification.requested', userId: id, actorId: null, at: draft.now })
        return createLink(trx, draft)
      })
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
      await countOwnEmail(id, context, settings.limits)
      // Strangers may have used up the budget of the new address. The response is then the same as for a
      // taken one.
      if (!(await countEmail(newEmail, context, settings.limits))) return { body: { success: true } }
      const draft = {
        kind: 'change-email',
        to: newEmail,
        user: { id, name, email },
        now: config.now(),
      } as const
      const { link, taken, reserved } = await change(async (trx, record) => {
        const request = { userId: id, actorId: null, from: email, to: newEmail, at: draft.now }
        record({ type: 'user.email-change-requested', ...request })
        return {
          // Always made: otherwise the time of the response would reveal whether the address is taken.
          link: await createLink(trx, draft),
          taken: await trx.selectFrom('user').select('id').where('email', '=', newEmail).executeTakeFirst(),
          reserved:
            settings.undoEmailChange &&
            (await isReserved(trx, { email: newEmail, userId: id, now: draft.now })),
        }
      })
      if (taken === undefined && !reserved) later(() => sendEmail(link))
      return { body: { success: true } }
    },
  })
}

/**
 * Consumes a link that proves an email address: the current one, or the one that the user wants. After a
 * change of address, the session whose current cookie came with the request gets new credentials. Without it,
 * all sessions of the user end.
 */
export function verifyEmail({
  limits,
  sendEmail,
  undoEmailChange,
}: Settings): Endpoint<{ token: string }, VerifyEmailResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.verifyEmail,
    caller: 'anyone',
    setsCookies: true,
    input: z.strictObject({ token: z.string().min(1).max(128) }),
    output: verifiedEmail,
    async run({ token }, context) {
      await countAddress(context, limits)
      const now = context.config.now()
      const query = { token, kinds: ['verify-email', 'change-email'], now } as const
      const found = await findLink(context.database.db, query)
      const issue = found.kind === 'change-email' ? await prepareRenewal(found.userId, context) : null
      const { notice, renewed } = await context.change(async (trx, record) => {
        const link = await takeLink(trx, query)
        const { userId } = link
        const change = { userId, actorId: null, at: now }
        if (link.kind === 'verify-email') {
          await markVerified(trx, { ...link, now })
          record({ type: 'user.verified', ...change, email: link.email })
          return { notice: null, renewed: null }
        }
        const { former, wasVerified } = await moveToEmail(trx, { ...link, now })
        record({ type: 'user.email-changed', ...change, from: former.email, to: link.email })
        const notice = await announceChange(trx, former, {
          wasVerified,
          undoEmailChange,
          newEmail: link.email,
          now,
        })
        const cookie = issue === null ? null : context.sessionCookie
        const renewed = await replaceCredentials(trx, record, { userId, cookie, cause: 'email-changed', now })
        const ending = { cause: 'email-changed', actorId: null, at: now } as const
        if (renewed === null) await deleteSessions(trx, record, { userId, ...ending })
        return { notice, renewed }
      })
      if (sendEmail !== undefined && notice !== null) context.later(() => sendEmail(notice))
      if (issue === null || renewed === null) return { body: { success: true } }
      const { body, cookies } = await issue(renewed)
      return { body: { success: true, ...body }, cookies }
    },
  })
}

/**
 * Prepares new credentials for the session of the request's cookie.
 *
 * @returns null without the current cookie of a session of this user
 * @throws AuthError `RATE_LIMITED`, or what `definePayload` throws
 */
async function prepareRenewal(
  userId: string,
  context: EndpointContext,
): Promise<Awaited<ReturnType<typeof prepareTokens>> | null> {
  const { sessionCookie } = context
  if (sessionCookie === null || !(await hasSecretOf(userId, context))) return null
  await countVersionChange(sessionCookie.sessionId, context)
  return prepareTokens({ id: sessionCookie.sessionId, userId }, context)
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

/**
 * Makes the notice to the former address. It has the undo link if the user had proved that the address is theirs:
 * otherwise it may be a stranger's, by a typing error or on purpose.
 *
 * @throws EndpointError `EMAIL_TAKEN` when the new address may still be restored to another user
 */
async function announceChange(
  trx: AuthTransaction,
  former: EmailUser,
  options: { wasVerified: boolean; undoEmailChange: boolean; newEmail: string; now: Date },
): Promise<EmailChangedEmail> {
  const { wasVerified, undoEmailChange, newEmail, now } = options
  const { id: userId, email } = former
  if (undoEmailChange && (await isReserved(trx, { email: newEmail, userId, now })))
    throw refuseEmailPassword('EMAIL_TAKEN')
  const notice = { kind: 'email-changed', to: email, user: former } as const
  if (!undoEmailChange || !wasVerified) return { ...notice, token: null, expiresAt: null }
  return { ...notice, ...(await createUndoLink(trx, { userId, email, now })) }
}

/** Returns the user as they were, and whether their address was verified. Links that were sent to the old address no longer count. */
export async function moveToEmail(
  trx: AuthTransaction,
  { userId, email, now }: ProvedEmail,
): Promise<{ former: EmailUser; wasVerified: boolean }> {
  const taken = await trx.selectFrom('user').select('id').where('email', '=', email).executeTakeFirst()
  if (taken !== undefined) throw refuseEmailPassword('EMAIL_TAKEN')
  const { emailVerified, ...former } = await trx
    .selectFrom('user')
    .select(['id', 'name', 'email', 'emailVerified'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  await trx
    .updateTable('user')
    .set({ email, emailVerified: true, updatedAt: now })
    .where('id', '=', userId)
    .execute()
    .catch(refuseTaken)
  await forgetLinks(withOwnTables(trx), { userId, kinds: ['reset-password', 'verify-email'] })
  return { former, wasVerified: Boolean(emailVerified) }
}

import * as z from 'zod/mini'
import type { AuthTransaction } from '../../database/session-database.ts'
import { isKnownBrowser } from '../../endpoints/browser-memory.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from '../../endpoints/endpoint.ts'
import { done, noFields, oneTimeToken, verifiedEmail } from '../../endpoints/plain-schemas.ts'
import { countVersionChange, sessionOfSecret } from '../../endpoints/renew-session.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { prepareTokens } from '../../lifecycle/prepare-tokens.ts'
import { replaceCredentials } from '../../lifecycle/replace-credentials.ts'
import { ENDPOINTS, type SuccessResponse, type VerifyEmailResponse } from '../../protocol.ts'
import { findUser } from '../email-user.ts'
import { countAddress, countOwnEmail, countSignIn } from './attempts.ts'
import { createNotice, moveToEmail, type VerifiedEmail } from './change-email.ts'
import { consumeLink, createLink, findLink, isReserved } from './links.ts'
import { verifyOwnPassword } from './own-password.ts'
import { givenPassword } from './password.ts'
import { emailPasswordError, requireEmail, type Settings, wrongPassword } from './settings.ts'

/** Sends a link that verifies the caller's email. */
export function sendVerificationEmail(settings: Settings): Endpoint<object, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.sendVerificationEmail,
    caller: 'user',
    input: noFields,
    output: done,
    async run(_input, context) {
      const sendEmail = requireEmail(settings.sendEmail)
      const { id, name, email } = context.session.user
      await countOwnEmail(email, context, settings.limits)
      const now = context.config.now()
      const link = await context.change((trx, record) => {
        record({ type: 'verification.requested', userId: id, actorId: null, at: now })
        return createLink(trx, { kind: 'verify-email', to: email, user: { id, name, email }, now })
      })
      context.later(() => sendEmail(link))
      return { body: { success: true } }
    },
  })
}

export interface VerifyEmailInput {
  /** The one in the link. */
  token: string
  /** The account's password, for a browser that the account doesn't know. */
  password?: string
}

/**
 * Consumes a link that verifies the current email address or changes it. A browser that the account doesn't
 * know must send the password. After a change, the session whose current cookie came with the request gets
 * new credentials. Without it, all sessions of the user end.
 */
export function verifyEmail(settings: Settings): Endpoint<VerifyEmailInput, VerifyEmailResponse, true> {
  const { limits, sendEmail, undoEmailChange } = settings
  return defineEndpoint({
    ...ENDPOINTS.verifyEmail,
    caller: 'anyone',
    setsCookies: true,
    input: z.strictObject({ token: oneTimeToken, password: z.exactOptional(givenPassword) }),
    output: verifiedEmail,
    async run({ token, password }, context) {
      await countAddress(context, limits)
      const now = context.config.now()
      const query = { token, kinds: ['verify-email', 'change-email'], now } as const
      const found = await findLink(context.database.db, query)
      const session = await sessionOfSecret(found.userId, context)
      const hasSession = session && session.expiresAt > now
      if (!hasSession) await requireOwner({ ...found, password }, context, settings)
      const isRenewed = hasSession && found.kind === 'change-email'
      const issue = isRenewed ? await prepareRenewal(found.userId, context) : null
      const { notice, renewed } = await context.change(async (trx, record) => {
        const { kind, userId, email } = await consumeLink(trx, query)
        const change = { userId, actorId: null, at: now }
        if (kind === 'verify-email') {
          await markVerified(trx, { userId, email, now })
          record({ type: 'user.verified', ...change, email })
          return { notice: null, renewed: null }
        }
        const moved = await moveToEmail(trx, { userId, email, now })
        record({ type: 'user.email-changed', ...change, from: moved.former.email, to: email })
        if (undoEmailChange && (await isReserved(trx, { email, userId, now })))
          throw emailPasswordError('EMAIL_TAKEN')
        const notice = await createNotice(trx, { ...moved, undoEmailChange, now })
        const cookie = issue === null ? null : context.sessionCookie
        const renewed = await replaceCredentials(trx, record, { userId, cookie, cause: 'email-changed', now })
        if (renewed === null) await deleteSessions(trx, record, { ...change, cause: 'email-changed' })
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
 * Rejects a caller who may not be the account's user: a stranger may have entered the address that got the
 * link. A browser that has signed in to the account passes, and so does the password.
 * @throws EndpointError `INVALID_CREDENTIALS`, or AuthError `RATE_LIMITED`
 */
async function requireOwner(
  { userId, password }: { userId: string; password: string | undefined },
  context: EndpointContext,
  settings: Settings,
): Promise<void> {
  if (await isKnownBrowser(userId, context)) return
  if (password === undefined) throw wrongPassword(PASSWORD_NEEDED)
  const email = (await findUser(context.database.db, { id: userId }))?.email ?? ''
  const { requester, giveBack } = await countSignIn({ name: email, email }, context, settings.limits)
  await verifyOwnPassword({ userId, password, requester, giveBack }, context, settings)
  await giveBack()
}

const PASSWORD_NEEDED =
  'Enter the password of your account, or sign in to your account here and open the link again.'

/** Prepares new credentials for the session of the current cookie. */
async function prepareRenewal(userId: string, context: EndpointContext) {
  const { sessionCookie } = context
  if (sessionCookie === null) return null
  await countVersionChange(sessionCookie.sessionId, context)
  return prepareTokens({ id: sessionCookie.sessionId, userId }, context)
}

/** @throws EndpointError `LINK_INVALID` if the address has changed since the link was sent */
async function markVerified(trx: AuthTransaction, { userId, email, now }: VerifiedEmail): Promise<void> {
  const update = trx.updateTable('user').set({ emailVerified: true, updatedAt: now }).where('id', '=', userId)
  const { numUpdatedRows } = await update.where('email', '=', email).executeTakeFirst()
  if (numUpdatedRows === 0n) throw emailPasswordError('LINK_INVALID')
}

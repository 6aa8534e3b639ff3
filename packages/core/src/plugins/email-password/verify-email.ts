import * as z from 'zod'
import type { AuthTransaction } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from '../../endpoints/endpoint.ts'
import { prepareTokens } from '../../endpoints/issue-tokens.ts'
import { done, noFields, verifiedEmail } from '../../endpoints/plain-schemas.ts'
import { countVersionChange, hasSecretOf } from '../../endpoints/renew-session.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { replaceCredentials } from '../../lifecycle/replace-credentials.ts'
import { ENDPOINTS, type SuccessResponse, type VerifyEmailResponse } from '../../protocol.ts'
import { emailAddress } from '../internal.ts'
import { findUser } from './accounts.ts'
import { countAddress, countEmail, countOwnEmail } from './attempts.ts'
import { consumeLink, createLink, deleteLinks, findLink, insertLink, isReserved } from './links.ts'
import { emailPasswordError } from './reasons.ts'
import { type EmailChangedEmail, type EmailUser, requireEmail } from './send-email.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** Sends the caller a link that verifies their email address. */
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

/**
 * Sends a link to the address that the caller wants to change to. Until it is used, nothing changes. The
 * response doesn't reveal whether another account has that address.
 */
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
        const taken = await isTaken(trx, newEmail)
        const reserved = undoEmailChange && (await isReserved(trx, { email: newEmail, userId: id, now }))
        return { link, isFree: !taken && !reserved }
      })
      if (isFree) context.later(() => sendEmail(link))
      return { body: { success: true } }
    },
  })
}

/**
 * Consumes a link that verifies the current email address or changes it. After a change, the session whose
 * current cookie came with the request gets new credentials. Without it, all sessions of the user end.
 */
export function verifyEmail(settings: Settings): Endpoint<{ token: string }, VerifyEmailResponse, true> {
  const { limits, sendEmail, undoEmailChange } = settings
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
 * Prepares new credentials for the session of the request's cookie. Returns null without the current cookie
 * of a session of this user.
 *
 * @throws AuthError `RATE_LIMITED`, or what `definePayload` throws
 */
async function prepareRenewal(userId: string, context: EndpointContext) {
  const { sessionCookie } = context
  if (sessionCookie === null || !(await hasSecretOf(userId, context))) return null
  await countVersionChange(sessionCookie.sessionId, context)
  return prepareTokens({ id: sessionCookie.sessionId, userId }, context)
}

type VerifiedEmail = { userId: string; email: string; now: Date }

/** @throws EndpointError `LINK_INVALID` if the address has changed since the link was sent */
async function markVerified(trx: AuthTransaction, { userId, email, now }: VerifiedEmail): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('user')
    .set({ emailVerified: true, updatedAt: now })
    .where('id', '=', userId)
    .where('email', '=', email)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw emailPasswordError('LINK_INVALID')
}

type Moved = { former: EmailUser; wasVerified: boolean }

/** Changes the email of a user, and deletes the links that were sent to the former one. */
export async function moveToEmail(trx: AuthTransaction, move: VerifiedEmail): Promise<Moved> {
  const { userId, email, now } = move
  if (await isTaken(trx, email)) throw emailPasswordError('EMAIL_TAKEN')
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
    .catch(rethrowTaken)
  await deleteLinks(withOwnTables(trx), { userId, kinds: ['reset-password', 'verify-email'] })
  return { former, wasVerified: Boolean(emailVerified) }
}

async function isTaken(trx: AuthTransaction, email: string): Promise<boolean> {
  return (await findUser(trx, { email })) !== undefined
}

/** In PostgreSQL another transaction may have taken the address since {@link isTaken}. */
function rethrowTaken(error: unknown): never {
  const isDuplicate = error instanceof Error && 'code' in error && error.code === '23505'
  throw isDuplicate ? emailPasswordError('EMAIL_TAKEN') : error
}

/**
 * Creates the notice to the former address. It has an undo link only if that address was verified: otherwise
 * it may belong to someone else, by a typing error or on purpose.
 */
async function createNotice(
  trx: AuthTransaction,
  { former, wasVerified, undoEmailChange, now }: Moved & { undoEmailChange: boolean; now: Date },
): Promise<EmailChangedEmail> {
  const { id: userId, email } = former
  const notice = { kind: 'email-changed', to: email, user: former } as const
  if (!undoEmailChange || !wasVerified) return { ...notice, token: null, expiresAt: null }
  return { ...notice, ...(await insertLink(trx, { purpose: 'undo-email-change', userId, email, now })) }
}

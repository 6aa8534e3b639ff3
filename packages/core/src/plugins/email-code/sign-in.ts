import * as z from 'zod/mini'
import type { AuthTransaction } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { beginSession } from '../../endpoints/issue-tokens.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { recordBan } from '../../endpoints/record-ban.ts'
import { renewSession, requireSessionSecret } from '../../endpoints/renew-session.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { findUser } from '../email-user.ts'
import { giveBackAttempt } from './attempts.ts'
import { claimAccount } from './claim-account.ts'
import { clearBindingCookie, type EmailProof, proofFields, proveMailbox } from './pending-code.ts'
import { emailCodeError, type Settings } from './settings.ts'

const hasOneProof = ({ code, token }: EmailProof) => (code === undefined) !== (token === undefined)

/** The `code` of an email, or the `token` of its link. */
export interface SignInEmailCodeInput extends EmailProof {
  /** If false, the cookies expire with the browser session, and the session after a day. @default true */
  readonly rememberMe?: boolean
}

/** Signs in by a code or a link, in the browser that requested it. Verifies the address. */
export function signInEmailCode(settings: Settings): Endpoint<SignInEmailCodeInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.signInEmailCode,
    caller: 'anyone',
    setsCookies: true,
    input: z
      .strictObject({ ...proofFields, rememberMe: z.exactOptional(z.boolean()) })
      .check(z.refine(hasOneProof, { path: ['code'] })),
    output: tokens,
    async run({ rememberMe, ...proof }, context) {
      const { email, ...request } = await proveMailbox(proof, context, settings)
      const findUserId = async () => (await findUser(context.database.db, { email }))?.id ?? null
      const claiming = claimAccount(email, context, settings)
      const { userId, isNew } = await claiming.catch(recordBan(findUserId, context))
      // A sign-up uses up the limit, so an address can't create accounts without end.
      if (!isNew) await giveBackAttempt(request, context, settings.limits)
      const { body, cookies } = await beginSession(userId, context, {
        amr: ['email'],
        rememberMe,
        // The user has just read the email with the code.
        unknownBrowser: 'remember',
        authorize: (trx) => requireEmailOf(userId, { email, trx }),
      })
      return { body, cookies: [...cookies, clearBindingCookie(context)] }
    },
  })
}

/** Makes a session fresh by a code or a link to the address of its user, and replaces its credentials. */
export function reauthenticateEmailCode(settings: Settings): Endpoint<EmailProof, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.reauthenticateEmailCode,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject(proofFields).check(z.refine(hasOneProof, { path: ['code'] })),
    output: tokens,
    async run(proof, context) {
      await requireSessionSecret(context)
      const { userId } = context.identity
      const { email, ...request } = await proveMailbox(proof, context, settings)
      await giveBackAttempt(request, context, settings.limits)
      const { body, cookies } = await renewSession(context, {
        cause: 'reauthenticated',
        methods: ['email'],
        work: (trx) => requireEmailOf(userId, { email, trx }),
      })
      return { body, cookies: [...cookies, clearBindingCookie(context)] }
    },
  })
}

/** Rejects a code that another address got, or the user's former one. */
async function requireEmailOf(
  userId: string,
  { email, trx }: { email: string; trx: AuthTransaction },
): Promise<void> {
  const user = await trx.selectFrom('user').select('email').where('id', '=', userId).executeTakeFirst()
  if (user?.email !== email) throw emailCodeError('EMAIL_CODE_INVALID')
}

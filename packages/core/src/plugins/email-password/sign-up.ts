import * as z from 'zod/mini'
import { isKnownBrowser } from '../../endpoints/browser-memory.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { beginSession } from '../../endpoints/issue-tokens.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { userName } from '../../endpoints/user-record.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { emailAddress } from '../internal.ts'
import { findPasswordAccount, insertAccount } from './accounts.ts'
import { countAddress } from './attempts.ts'
import { newPassword } from './password.ts'
import { emailPasswordError, hashNewPassword, type Settings } from './settings.ts'
import type { SignInInput } from './sign-in.ts'
import { hideTaken, sendVerification } from './unverified.ts'
import { insertUsername, username } from './usernames.ts'

export interface SignUpInput extends SignInInput {
  name: string
  email: string
  /** Only with `usernames`, and without `requireVerified`. */
  username?: string
}

/**
 * Creates an account, signs it in, and sends a verification email. With `requireVerified`, it doesn't sign
 * the account in, and rejects new and taken emails in the same way.
 */
export function signUpEmail(settings: Settings): Endpoint<SignUpInput, TokenResponse, true> {
  const { limits, sendEmail, requireVerified = false } = settings
  const takesUsername = settings.usernames === true && !requireVerified
  return defineEndpoint({
    ...ENDPOINTS.signUpEmail,
    caller: 'anyone',
    setsCookies: true,
    input: z.strictObject({
      name: userName,
      email: emailAddress,
      password: newPassword,
      username: takesUsername ? z.exactOptional(username) : z.exactOptional(z.never()),
      rememberMe: z.exactOptional(z.boolean()),
    }),
    output: tokens,
    async run({ name, email, password, username, rememberMe }, context) {
      await countAddress(context, limits)
      // Rejects duplicate cookies before the account exists.
      await isKnownBrowser(null, context)
      const now = context.config.now()
      const { onEvent } = context.database
      const newUser = { id: null, name, email, ...(username !== undefined && { username }) }
      const passwordHash = await hashNewPassword(password, { user: newUser, rules: settings, now, onEvent })
      const creating = context.change(async (trx, record) => {
        const created = await insertAccount(trx, record, { name, email, passwordHash, role: 'user', now })
        if (username !== undefined) await insertUsername(trx, created.userId, username)
        return created
      })
      if (requireVerified) {
        await creating.then(
          ({ userId }) => sendVerification(userId, context, settings),
          (error: unknown) => hideTaken(error, email, { context, settings }),
        )
        throw emailPasswordError('EMAIL_NOT_VERIFIED')
      }
      const { userId } = await creating
      // Also if no session begins: the account exists, so another sign-up would be rejected.
      if (sendEmail !== undefined) sendVerification(userId, context, settings)
      return beginSession(userId, context, {
        amr: ['pwd'],
        rememberMe,
        unknownBrowser: 'remember',
        // Meanwhile the owner of the address may have claimed the account.
        async authorize(trx) {
          const current = await findPasswordAccount(trx, { column: 'user.id', value: userId, now })
          if (current?.password !== passwordHash) throw emailPasswordError('EMAIL_TAKEN')
        },
      })
    },
  })
}

import * as z from 'zod'
import { defineEndpoint, type Endpoint, type EndpointContext } from '../../endpoints/endpoint.ts'
import { beginSession } from '../../endpoints/issue-tokens.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { isEndpointError } from '../../protocol/endpoint-error.ts'
import { AuthError } from '../../protocol/errors.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { findPasswordAccount, setPassword } from './accounts.ts'
import { countSignIn } from './attempts.ts'
import { emailAddress } from './email-address.ts'
import { rememberDevice } from './known-device.ts'
import { tellOfSignIn } from './new-sign-in.ts'
import { givenPassword, hashPassword, isOutdated, verifyPassword } from './password.ts'
import { refuseEmailPassword } from './reasons.ts'
import type { Settings } from './settings.ts'

/** What `POST /sign-in/email` takes. */
export interface SignInInput {
  email: string
  password: string
  /** False for a session that ends with the browser, or after a day. @default true */
  rememberMe?: boolean
}

/**
 * Begins a session for whoever knows the password. An unknown email and a wrong password are one answer, after the same work: one look-up,
 * one password verified, one record written.
 */
export function signInEmail({ limits, sendEmail }: Settings): Endpoint<SignInInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.signInEmail,
    caller: 'anyone',
    setsCookies: true,
    input: z.strictObject({
      email: emailAddress,
      password: givenPassword,
      rememberMe: z.boolean().exactOptional(),
    }),
    output: tokens,
    async run({ email, password, rememberMe }, context) {
      const { asker, giveBack } = await countSignIn(email, context, limits)
      const now = context.config.now()
      const account = await findPasswordAccount(context.database.db, {
        column: 'user.email',
        value: email,
        now,
      })
      const isProved = await verifyPassword(password, account?.password ?? null, asker)
      if (account === null || !isProved) {
        await recordFailure(account?.userId ?? null, 'INVALID_CREDENTIALS', context)
        throw refuseEmailPassword('INVALID_CREDENTIALS')
      }
      const { userId } = account
      if (account.isBanned) {
        await recordFailure(userId, 'ACCOUNT_BANNED', context)
        throw new AuthError('ACCOUNT_BANNED')
      }
      const verified = account.password
      const renewed = verified !== null && isOutdated(verified) ? await hashPassword(password, asker) : null
      const { body, cookies } = await beginSession(userId, context, {
        rememberMe,
        knownDevice: context.sessionTransport === 'header' ? null : asker === 'known',
        // While the password was being verified it may have been changed or reset.
        async authorize(trx) {
          const current = await findPasswordAccount(trx, { column: 'user.id', value: userId, now })
          if (current?.password !== verified) throw refuseEmailPassword('INVALID_CREDENTIALS')
          if (renewed !== null) await setPassword(trx, { userId, password: renewed, now })
        },
      }).catch(async (error: unknown) => {
        if (isEndpointError(error) && error.code === 'INVALID_CREDENTIALS')
          await recordFailure(userId, 'INVALID_CREDENTIALS', context)
        throw error
      })
      await giveBack()
      const deviceCookies = await rememberDevice(userId, context)
      if (sendEmail !== undefined && asker === 'stranger') tellOfSignIn(userId, context, sendEmail)
      return { body, cookies: [...cookies, ...deviceCookies] }
    },
  })
}

/** Writes down that someone failed to prove who they are. */
export async function recordFailure(
  userId: string | null,
  reason: 'INVALID_CREDENTIALS' | 'ACCOUNT_BANNED',
  { change, config, address }: EndpointContext,
): Promise<void> {
  await change(async (_trx, record) =>
    record({ type: 'sign-in.failed', at: config.now(), userId, reason, address }),
  )
}

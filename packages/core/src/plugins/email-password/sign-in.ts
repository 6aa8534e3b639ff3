import * as z from 'zod'
import { describeDevice } from '../../endpoints/device.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from '../../endpoints/endpoint.ts'
import { beginSession } from '../../endpoints/issue-tokens.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { isEndpointError } from '../../protocol/endpoint-error.ts'
import { AuthError } from '../../protocol/errors.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { emailAddress } from '../internal.ts'
import { findPasswordAccount, findUser, setPassword } from './accounts.ts'
import { countSignIn } from './attempts.ts'
import { rememberDevice } from './known-device.ts'
import { givenPassword, hashPassword, isOutdated, verifyPassword } from './password.ts'
import type { SendEmail } from './send-email.ts'
import { emailPasswordError, type Settings } from './settings.ts'

export interface SignInInput {
  email: string
  password: string
  /** False for a session that ends with the browser, or after a day. @default true */
  rememberMe?: boolean
}

/**
 * Signs in by email and password. An unknown email and a wrong password get the same response after the same
 * work: one lookup, one verified password, one audit record.
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
      const { requester, giveBack } = await countSignIn(email, context, limits)
      const { config, database, sessionTransport } = context
      const now = config.now()
      const account = await findPasswordAccount(database.db, { column: 'user.email', value: email, now })
      const isRight = await verifyPassword(password, account?.password ?? null, requester)
      if (account === null || !isRight) {
        await recordFailure(account?.userId ?? null, 'INVALID_CREDENTIALS', context)
        throw emailPasswordError('INVALID_CREDENTIALS')
      }
      const { userId, password: verified } = account
      if (account.isBanned) {
        await recordFailure(userId, 'ACCOUNT_BANNED', context)
        throw new AuthError('ACCOUNT_BANNED')
      }
      const isOld = verified !== null && isOutdated(verified)
      const renewed = isOld ? await hashPassword(password, requester) : null
      const { body, cookies } = await beginSession(userId, context, {
        rememberMe,
        knownDevice: sessionTransport === 'header' ? null : requester === 'known',
        // The password may have been changed or reset while it was verified.
        async authorize(trx) {
          const current = await findPasswordAccount(trx, { column: 'user.id', value: userId, now })
          if (current?.password !== verified) throw emailPasswordError('INVALID_CREDENTIALS')
          if (renewed !== null) await setPassword(trx, { userId, password: renewed, now })
        },
      }).catch(async (error: unknown) => {
        if (isEndpointError(error) && error.code === 'INVALID_CREDENTIALS')
          await recordFailure(userId, 'INVALID_CREDENTIALS', context)
        throw error
      })
      await giveBack()
      const deviceCookies = await rememberDevice(userId, context)
      if (sendEmail !== undefined && requester === 'unknown') notifyOfSignIn(userId, context, sendEmail)
      return { body, cookies: [...cookies, ...deviceCookies] }
    },
  })
}

/** Records a failed attempt to prove an identity in the audit trail. */
export async function recordFailure(
  userId: string | null,
  reason: 'INVALID_CREDENTIALS' | 'ACCOUNT_BANNED',
  { change, config, address }: EndpointContext,
): Promise<void> {
  await change(async (_trx, record) =>
    record({ type: 'sign-in.failed', at: config.now(), userId, reason, address }),
  )
}

/** A program that signs in repeatedly must not fill the mailbox. */
const NOTICES = { points: 10, duration: 60 * 60 }

const MAX_DEVICE_LENGTH = 64

/** Emails the user, after the response, that a browser signed in which the account doesn't know. */
function notifyOfSignIn(
  userId: string,
  { database, config, request, address, later }: EndpointContext,
  sendEmail: SendEmail,
): void {
  const at = config.now()
  const device = describeDevice(request.header('user-agent'))?.slice(0, MAX_DEVICE_LENGTH) ?? null
  later(async () => {
    if ((await database.limits.consume(`new-sign-in:${userId}`, NOTICES)) !== null) return
    const user = await findUser(database.db, { id: userId })
    if (user !== undefined)
      await sendEmail({ kind: 'new-sign-in', to: user.email, user, at, address, device })
  })
}

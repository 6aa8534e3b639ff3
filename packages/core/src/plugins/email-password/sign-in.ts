import * as z from 'zod/mini'
import type { SessionDatabase } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from '../../endpoints/endpoint.ts'
import { beginSession } from '../../endpoints/issue-tokens.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { isEndpointError } from '../../protocol/endpoint-error.ts'
import { AuthError, isAuthError } from '../../protocol/errors.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { emailAddress, giveBackInOutage } from '../internal.ts'
import { findPasswordAccount, requirePassword, setPassword } from './accounts.ts'
import { countSignIn } from './attempts.ts'
import { givenPassword, hashPassword, isOutdated, verifyPassword } from './password.ts'
import { emailPasswordError, type Settings } from './settings.ts'
import { sendVerification } from './unverified.ts'
import { emailOf, username } from './usernames.ts'

export interface SignInInput {
  /** With `usernames`, the email or the username. */
  email: string
  password: string
  /** If false, the cookies expire with the browser session, and the session after a day. @default true */
  rememberMe?: boolean
}

/**
 * Signs in by email and password. An unknown email and a wrong password get the same response after the same
 * work: one lookup, one verified password, one audit record.
 */
export function signInEmail(settings: Settings): Endpoint<SignInInput, TokenResponse, true> {
  const { limits, others, requireVerified = false, usernames = false } = settings
  return defineEndpoint({
    ...ENDPOINTS.signInEmail,
    caller: 'anyone',
    setsCookies: true,
    input: z.strictObject({
      email: usernames ? z.union([emailAddress, username]) : emailAddress,
      password: givenPassword,
      rememberMe: z.exactOptional(z.boolean()),
    }),
    output: tokens,
    async run({ email: name, password, rememberMe }, context) {
      const { config, database } = context
      const email = usernames ? await emailOf(name, database.db) : name
      const { requester, giveBack } = await countSignIn({ name, email }, context, limits)
      const now = config.now()
      const account = await findPasswordAccount(database.db, {
        column: 'user.email',
        value: email,
        now,
      }).catch(giveBackInOutage(giveBack))
      const isRight = await verifyPassword(password, account?.password ?? null, { requester, others }).catch(
        giveBackInOutage(giveBack),
      )
      if (account === null || !isRight)
        throw await recordFailure(account?.userId ?? null, 'INVALID_CREDENTIALS', context)
      const { userId, password: verified } = account
      if (account.isBanned) throw await recordFailure(userId, 'ACCOUNT_BANNED', context)
      if (requireVerified && !account.emailVerified) {
        await giveBack()
        sendVerification(userId, context, settings)
        throw emailPasswordError('EMAIL_NOT_VERIFIED')
      }
      const isOld =
        verified !== null &&
        isOutdated(verified) &&
        isOwned(verified, database) &&
        isExact(password, verified)
      const renewed = isOld ? await hashPassword(password, requester).catch(giveBackInOutage(giveBack)) : null
      const session = await beginSession(userId, context, {
        amr: ['pwd'],
        rememberMe,
        async authorize(trx) {
          await requirePassword(trx, { userId, password: verified, now })
          if (renewed !== null) await setPassword(trx, { userId, password: renewed, now })
        },
      }).catch(async (error: unknown) => {
        const isWrong = isEndpointError(error) && error.code === 'INVALID_CREDENTIALS'
        if (isWrong) throw await recordFailure(userId, 'INVALID_CREDENTIALS', context)
        if (isAuthError(error) && error.reason === 'FACTOR_REQUIRED') await giveBack()
        return giveBackInOutage(giveBack)(error)
      })
      await giveBack()
      return session
    },
  })
}

/** Another library that reads the table may not know argon2id. */
function isOwned(passwordHash: string, { names }: SessionDatabase): boolean {
  return passwordHash.startsWith('$argon2') || names === undefined
}

/**
 * Returns whether the hash matches no other text, which a new hash would reject. bcrypt ignores what follows
 * 72 bytes, such as a typo. Libraries with scrypt normalize: devices write `ü` as one character or as two.
 */
function isExact(password: string, passwordHash: string): boolean {
  if (passwordHash.startsWith('$argon2')) return true
  if (passwordHash.startsWith('$2')) return Buffer.byteLength(password) <= 72
  return password === password.normalize('NFKC') && password === password.normalize('NFKD')
}

export async function recordFailure(
  userId: string | null,
  reason: 'INVALID_CREDENTIALS' | 'ACCOUNT_BANNED',
  { change, config, address }: EndpointContext,
): Promise<Error> {
  const failure = { type: 'sign-in.failed', at: config.now(), userId, reason, address } as const
  await change(async (_trx, record) => record(failure))
  return reason === 'ACCOUNT_BANNED' ? new AuthError(reason) : emailPasswordError(reason)
}

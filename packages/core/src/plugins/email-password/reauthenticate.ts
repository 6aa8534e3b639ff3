import * as z from 'zod'
import { type AuthorizedContext, defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession, requireSessionSecret } from '../../endpoints/renew-session.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { findPasswordAccount } from './accounts.ts'
import { type AttemptLimits, countConfirmation } from './attempts.ts'
import { givenPassword, verifyPassword } from './password.ts'
import { emailPasswordError } from './reasons.ts'
import type { Settings } from './settings.ts'
import { recordFailure } from './sign-in.ts'

/**
 * Makes a session fresh again: calls that were rejected with `SESSION_NOT_FRESH` pass. The credentials are
 * replaced, so only the caller's are fresh. The session id stays.
 */
export function reauthenticate({ limits }: Settings): Endpoint<{ password: string }, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.reauthenticate,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({ password: givenPassword }),
    output: tokens,
    async run({ password }, context) {
      await confirmPassword(password, context, limits)
      return renewSession(context, { cause: 'reauthenticated' })
    },
  })
}

/**
 * Verifies the password of a signed-in user.
 *
 * @throws EndpointError `SESSION_SECRET_REQUIRED` before the password is checked, or `INVALID_CREDENTIALS`
 * @throws AuthError `RATE_LIMITED`
 */
export async function confirmPassword(
  password: string,
  context: AuthorizedContext,
  limits: AttemptLimits,
): Promise<void> {
  const { userId } = context.identity
  await requireSessionSecret(context)
  await countConfirmation(context, limits)
  const now = context.config.now()
  const account = await findPasswordAccount(context.database.db, { column: 'user.id', value: userId, now })
  if (await verifyPassword(password, account?.password ?? null, 'known')) return
  await recordFailure(userId, 'INVALID_CREDENTIALS', context)
  throw emailPasswordError('INVALID_CREDENTIALS')
}

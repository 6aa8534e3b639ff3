import type { AuthorizedContext } from '../../endpoints/endpoint.ts'
import { requireSessionSecret } from '../../endpoints/renew-session.ts'
import { findPasswordAccount } from './accounts.ts'
import { type AttemptLimits, countConfirmation } from './attempts.ts'
import { verifyPassword } from './password.ts'
import { refuseEmailPassword } from './reasons.ts'
import { recordFailure } from './sign-in.ts'

/**
 * Makes a signed-in user prove who they are.
 *
 * @throws EndpointError `SESSION_SECRET_REQUIRED` before the password is looked at, or `INVALID_CREDENTIALS`
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
  throw refuseEmailPassword('INVALID_CREDENTIALS')
}

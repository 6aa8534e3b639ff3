import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { hasSecondFactor } from '../../endpoints/require-second-factor.ts'
import { lockValidUser } from '../../lifecycle/create-session.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { selectUser } from '../email-user.ts'
import { insertUser } from '../insert-user.ts'
import { emailCodeError, type Settings } from './settings.ts'

/**
 * Returns the account of an address whose mail the user has just read. Creates it with `signUp`. The first
 * time, it takes the account away from anyone who registered it before and never proved the address, unless
 * it has a second factor.
 * @throws EndpointError `EMAIL_CODE_INVALID` if the account was deleted meanwhile; AuthError `ACCOUNT_BANNED`
 */
export async function claimAccount(
  email: string,
  { change, config, later, secondFactors, browsers }: EndpointContext,
  { sendEmail, signUp }: Settings,
): Promise<{ userId: string; isNew: boolean }> {
  const now = config.now()
  const { user, isNew, hadPassword } = await change(async (trx, record) => {
    const created = { name: nameOf(email), email, emailVerified: true, now }
    const isNew = signUp && (await insertUser(trx, record, created)) !== null
    const query = selectUser(trx, { email }).select('emailVerified')
    const found = await query.forNoKeyUpdate().executeTakeFirst()
    if (found === undefined) throw emailCodeError('EMAIL_CODE_INVALID')
    const { emailVerified, ...user } = found
    const userId = user.id
    // A mailbox must not bypass a second factor: `beginSession` asks for it.
    if (emailVerified || (await hasSecondFactor(userId, trx, secondFactors)))
      return { user, isNew, hadPassword: false }
    // The sign-in fails, so it changes nothing.
    await lockValidUser(trx, userId, now)
    const change = { userId, actorId: null, at: now } as const
    // Before the factors, which would be removed from the proofs of each session.
    await deleteSessions(trx, record, { userId, cause: 'password-reset', at: now })
    // What was never confirmed, and so isn't a factor yet.
    for (const factor of secondFactors) await factor.remove(userId, trx)
    for (const memory of browsers) await memory.forget(userId, trx)
    const ways = trx.deleteFrom('account').where('userId', '=', userId)
    const hadPassword = (await ways.executeTakeFirst()).numDeletedRows > 0n
    const verified = { emailVerified: true, updatedAt: now }
    await trx.updateTable('user').set(verified).where('id', '=', userId).execute()
    // Also without a password: it voids what else an attacker may have prepared, such as an email change.
    record({ type: 'user.password-changed', ...change })
    record({ type: 'user.verified', ...change, email })
    return { user, isNew, hadPassword }
  })
  if (hadPassword) later(() => sendEmail({ kind: 'password-removed', to: email, user }))
  return { userId: user.id, isNew }
}

/** A first name for the user, who can change it: the words before the `@`, without dots that make a link. */
function nameOf(email: string): string {
  const words = email.slice(0, email.lastIndexOf('@')).replace(/[^\p{L}\p{N}]+/gu, ' ')
  return words.trim().slice(0, 128) || 'User'
}

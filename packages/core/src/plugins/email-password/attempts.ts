import {
  type Attempts,
  addressAttempts,
  consume,
  type GiveBack,
  limitAddress,
} from '../../endpoints/attempts.ts'
import type { AuthorizedContext, EndpointContext } from '../../endpoints/endpoint.ts'
import { emit } from '../../events/emit.ts'
import { clientNetwork } from '../../request/address.ts'
import { hashSecret } from '../../session/secret.ts'
import { emailAttempts, isRateLimited, tryConsume } from '../internal.ts'
import { readKnownDevice } from './known-device.ts'
import type { Requester } from './password.ts'
import type { AttemptLimits } from './settings.ts'

/**
 * Limits sign-ins before any other work: per account, whether it exists or not, and per address. A device
 * that the account knows has a separate budget, which others can't use up.
 * @param login.name what the user typed. An email and a username have separate budgets: a shared one would
 * reveal that they belong together
 * @throws AuthError `RATE_LIMITED`
 */
export async function countSignIn(
  { name, email }: { name: string; email: string },
  context: EndpointContext,
  limits: AttemptLimits,
): Promise<{ requester: Requester; giveBack: GiveBack }> {
  const account = await hashSecret(name)
  const device = await readKnownDevice(email, context)
  const attempts: Attempts =
    device === null
      ? [
          ...addressAttempts(context, 'address', limits.address),
          [`sign-in:account:${account}`, limits.account],
        ]
      : [[`sign-in:device:${device}:${account}`, limits.account]]
  const giveBack = await countAttempt(context, attempts)
  return { requester: device === null ? 'unknown' : 'known', giveBack }
}

/** A user's budget for password confirmations, as a multiple of one session version's on one network. */
const CONFIRMATIONS_PER_USER = 5

/**
 * Limits the passwords that a signed-in user sends, so a copied session can't be used to guess. Per session
 * version and network, so a copy can't use up the owner's attempts. @throws AuthError `RATE_LIMITED`
 */
export async function countConfirmation(
  context: AuthorizedContext,
  { account }: AttemptLimits,
): Promise<GiveBack> {
  const { userId, sessionId, version } = context.identity
  const network = clientNetwork(context.address)
  const perUser = { ...account, points: account.points * CONFIRMATIONS_PER_USER }
  return countAttempt(context, [
    [`confirm:${sessionId}:${version}:${network}`, account],
    [`confirm:user:${userId}`, perUser],
  ])
}

/** Limits requests by the client's address alone. @throws AuthError `RATE_LIMITED` */
export function countAddress(context: EndpointContext, { address }: AttemptLimits): Promise<void> {
  return limitAddress(context, 'address', address)
}

/** Returns whether an email may be sent. If not, respond as if it was: a 429 reveals others' requests. */
export async function countEmail(
  address: string,
  context: EndpointContext,
  limits: AttemptLimits,
): Promise<boolean> {
  const attempts = await emailAttempts(context, address, { purpose: 'email', limits })
  return (await tryConsume(context, attempts)) !== null
}

/** Like {@link countEmail} for a known device, whose budget others can't use up. False for any other. */
export async function countEmailOfDevice(
  address: string,
  context: EndpointContext,
  limits: AttemptLimits,
): Promise<boolean> {
  const device = await readKnownDevice(address, context)
  if (device === null) return false
  const key = `email:device:${device}:${await hashSecret(address)}`
  return (await tryConsume(context, [[key, limits.email]])) !== null
}

/** Limits the emails that a signed-in user requests. @throws AuthError `RATE_LIMITED` */
export async function countOwnEmail(
  emailOrId: string,
  context: EndpointContext,
  limits: AttemptLimits,
): Promise<void> {
  await countAddress(context, limits)
  await context.limit(`email:own:${await hashSecret(emailOrId)}`, limits.email)
}

function countAttempt(context: EndpointContext, attempts: Attempts): Promise<GiveBack> {
  const { config, database, address } = context
  return consume(context, attempts).catch((error: unknown) => {
    // Not recorded in the table: a flood must not decide how much is written.
    if (isRateLimited(error)) {
      const event = { at: config.now(), userId: null, reason: 'RATE_LIMITED', address } as const
      emit({ type: 'sign-in.failed', ...event }, database.onEvent)
    }
    throw error
  })
}

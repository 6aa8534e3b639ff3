import type { AuthorizedContext, EndpointContext } from '../../endpoints/endpoint.ts'
import { emit } from '../../events/emit.ts'
import { isAuthError } from '../../protocol/errors.ts'
import { checkRateLimit, type RateLimit } from '../../rate-limit/rate-limit.ts'
import { addressBuckets, clientNetwork } from '../../request/address.ts'
import { hashEmail } from './email-address.ts'
import { readKnownDevice } from './known-device.ts'
import type { Asker } from './password.ts'

/** The rate limits of `emailPassword()`. Every attempt is counted; successful sign-ins are given back. */
export interface AttemptLimits {
  /** Passwords for one account, from all unknown devices together and from each known one. @default 10 in 15 minutes */
  readonly account: RateLimit
  /**
   * Sign-ins and sign-ups from one address, or one /64 of IPv6; ten times as many from its /48.
   * @default 100 in 15 minutes
   */
  readonly address: RateLimit
  /**
   * Emails to one address that one network asks for, and as many again for each known device.
   *
   * @default 5 in an hour
   */
  readonly email: RateLimit
  /** Emails to one address that strangers on all networks together ask for. @default 20 in an hour */
  readonly mailbox: RateLimit
}

const DEFAULT_LIMITS: AttemptLimits = {
  account: { points: 10, duration: 15 * 60 },
  address: { points: 100, duration: 15 * 60 },
  email: { points: 5, duration: 60 * 60 },
  mailbox: { points: 20, duration: 60 * 60 },
}

/**
 * Fills in the defaults.
 *
 * @throws ConfigurationError naming the limit that cannot work
 */
export function attemptLimits(given: Partial<AttemptLimits> = {}): AttemptLimits {
  const limit = (name: keyof AttemptLimits) =>
    checkRateLimit(`limits.${name}`, given[name] ?? DEFAULT_LIMITS[name])
  return {
    account: limit('account'),
    address: limit('address'),
    email: limit('email'),
    mailbox: limit('mailbox'),
  }
}

/** A sign-in that was counted. */
export interface CountedSignIn {
  /** `known` if the account knows the device. */
  readonly asker: Asker
  /** Takes the attempt back, because it succeeded. */
  giveBack(): Promise<void>
}

/**
 * Counts a sign-in before anything is looked at: by the account that is tried, whether it exists or not, and by the address. A device that
 * the account knows has its own budget, which strangers can't use up.
 *
 * @throws AuthError `RATE_LIMITED`
 */
export async function countSignIn(
  address: string,
  context: EndpointContext,
  limits: AttemptLimits,
): Promise<CountedSignIn> {
  const account = await hashEmail(address)
  const device = await readKnownDevice(address, context)
  const counts: [string, RateLimit][] =
    device === null
      ? [...addressCounts(context, limits), [`sign-in:account:${account}`, limits.account]]
      : [
          // One device can have many accounts: together they get no more attempts than an address.
          [`sign-in:device:${device}`, limits.address],
          [`sign-in:device:${device}:${account}`, limits.account],
        ]
  await reportingLimit(context, async () => {
    for (const [key, limit] of counts) await context.limit(key, limit)
  })
  return {
    asker: device === null ? 'stranger' : 'known',
    async giveBack() {
      for (const [key, limit] of counts) await context.giveBack(key, limit)
    },
  }
}

/**
 * The budget of a user for password confirmations is this many times that of one session version on one
 * network.
 */
const CONFIRMATIONS_OF_USER = 5

/**
 * Counts a password that a signed-in user gives, so a copied session can't be used to guess it. The count is
 * per session version and network, so a copy can't use up the owner's attempts.
 */
export function countConfirmation(context: AuthorizedContext, { account }: AttemptLimits): Promise<void> {
  const { userId, sessionId, version } = context.identity
  const network = clientNetwork(context.address)
  const ofUser = { ...account, points: account.points * CONFIRMATIONS_OF_USER }
  return reportingLimit(context, async () => {
    await context.limit(`confirm:${sessionId}:${version}:${network}`, account)
    await context.limit(`confirm:user:${userId}`, ofUser)
  })
}

/** Counts a request of someone of whom nothing but the address is known. */
export async function countAddress(context: EndpointContext, limits: AttemptLimits): Promise<void> {
  for (const [key, limit] of addressCounts(context, limits)) await context.limit(key, limit)
}

function addressCounts({ address }: EndpointContext, limits: AttemptLimits): [string, RateLimit][] {
  return addressBuckets(address, limits.address).map(({ name, limit }) => [`address:${name}`, limit])
}

/**
 * Counts an email that a stranger asks for, whether the address has an account or not. Over budget, the
 * caller sends nothing and responds as if it had: the response must neither tell strangers anything nor let
 * them block the owner.
 *
 * @returns whether the email may be sent
 */
export async function countEmail(
  address: string,
  context: EndpointContext,
  limits: AttemptLimits,
): Promise<boolean> {
  const mailbox = await hashEmail(address)
  return (
    (await isAllowed(context, `email:${clientNetwork(context.address)}:${mailbox}`, limits.email)) &&
    (await isAllowed(context, `email:${mailbox}`, limits.mailbox))
  )
}

/**
 * Counts an email that a device asks for that the account knows. Strangers can't use up this budget, which
 * comes on top of theirs.
 *
 * @returns whether the email may be sent; false for an unknown device
 */
export async function countEmailOfDevice(
  address: string,
  context: EndpointContext,
  limits: AttemptLimits,
): Promise<boolean> {
  const device = await readKnownDevice(address, context)
  if (device === null) return false
  return isAllowed(context, `email:device:${device}:${await hashEmail(address)}`, limits.email)
}

/**
 * Counts an email that a signed-in user asks for. Strangers can't use up this budget.
 *
 * @param budget what the user shares it with: their email address, or their id
 * @throws AuthError `RATE_LIMITED`
 */
export async function countOwnEmail(
  budget: string,
  context: EndpointContext,
  limits: AttemptLimits,
): Promise<void> {
  await context.limit(`email:own:${await hashEmail(budget)}`, limits.email)
}

async function isAllowed(context: EndpointContext, key: string, limit: RateLimit): Promise<boolean> {
  try {
    await context.limit(key, limit)
    return true
  } catch (error) {
    if (isAuthError(error) && error.reason === 'RATE_LIMITED') return false
    throw error
  }
}

/** Not written to the table: whoever floods us would decide how much is written. */
async function reportingLimit(
  { config, database, address }: EndpointContext,
  count: () => Promise<void>,
): Promise<void> {
  try {
    await count()
  } catch (error) {
    if (isAuthError(error) && error.reason === 'RATE_LIMITED')
      emit(
        { type: 'sign-in.failed', at: config.now(), userId: null, reason: error.reason, address },
        database.onEvent,
      )
    throw error
  }
}

import { clientNetwork } from '../../address.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { isAuthError } from '../../errors.ts'
import { emit } from '../../events/emit.ts'
import { checkRateLimit, type RateLimit } from '../../rate-limit/rate-limit.ts'
import { hashEmail } from './email-address.ts'
import { isKnownDevice, readDevice } from './known-device.ts'
import type { Asker } from './password.ts'

/** How often something may be tried. Every attempt counts, the successful ones too. */
export interface AttemptLimits {
  /** Passwords for one account, from all unknown devices together and from each known one. @default 10 in 15 minutes */
  readonly account: RateLimit
  /** Sign-ins and sign-ups from one address, or one /64 of IPv6. @default 100 in 15 minutes */
  readonly address: RateLimit
  /** Emails to one address. @default 5 in an hour */
  readonly email: RateLimit
}

const DEFAULT_LIMITS: AttemptLimits = {
  account: { points: 10, duration: 15 * 60 },
  address: { points: 100, duration: 15 * 60 },
  email: { points: 5, duration: 60 * 60 },
}

/**
 * Fills in the defaults.
 *
 * @throws ConfigurationError naming the limit that cannot work
 */
export function attemptLimits(given: Partial<AttemptLimits> = {}): AttemptLimits {
  const limit = (name: keyof AttemptLimits) =>
    checkRateLimit(`limits.${name}`, given[name] ?? DEFAULT_LIMITS[name])
  return { account: limit('account'), address: limit('address'), email: limit('email') }
}

/**
 * Counts a sign-in before anything is looked at: by the account that is tried, whether it exists or not, and by the address. A device that
 * the account knows counts for itself alone.
 *
 * @returns whether the device is known
 *
 * @throws AuthError `RATE_LIMITED`
 */
export async function countSignIn(
  address: string,
  context: EndpointContext,
  limits: AttemptLimits,
): Promise<Asker> {
  const account = await hashEmail(address)
  const device = await readDevice(context)
  const isKnown = device !== null && (await isKnownDevice(device, address, context))
  await reportingLimit(context, async () => {
    if (isKnown) return countDevice(device, account)
    await countAddress(context, limits)
    await context.limit(`sign-in:account:${account}`, limits.account)
  })
  return isKnown ? 'known' : 'stranger'

  /** All its accounts together no more than an address: whoever has many of their own must not try without end. */
  async function countDevice(device: string, account: string): Promise<void> {
    await context.limit(`sign-in:device:${device}`, limits.address)
    await context.limit(`sign-in:device:${device}:${account}`, limits.account)
  }
}

/** Counts a password that a signed-in user gives: a stolen session must not become a way to guess it. */
export function countConfirmation(
  userId: string,
  context: EndpointContext,
  limits: AttemptLimits,
): Promise<void> {
  return reportingLimit(context, () => context.limit(`confirm:${userId}`, limits.account))
}

/** Counts a request of someone of whom nothing but the address is known. */
export function countAddress(context: EndpointContext, limits: AttemptLimits): Promise<void> {
  return context.limit(`address:${clientNetwork(context.address)}`, limits.address)
}

/** Counts an email that is to be sent, whether there is anyone to receive it or not. */
export async function countEmail(
  address: string,
  context: EndpointContext,
  limits: AttemptLimits,
): Promise<void> {
  await context.limit(`email:${await hashEmail(address)}`, limits.email)
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

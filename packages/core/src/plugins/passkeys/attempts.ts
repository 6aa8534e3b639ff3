import type { AuthorizedContext, EndpointContext } from '../../endpoints/endpoint.ts'
import type { RateLimit } from '../../rate-limit/rate-limit.ts'
import { addressBuckets, clientNetwork } from '../../request/address.ts'
import type { PasskeyLimits } from './settings.ts'

type Context = EndpointContext | AuthorizedContext

/** Limits the challenges of a user, or of an address. @throws AuthError `RATE_LIMITED` */
export async function countOptions(context: Context, { options }: PasskeyLimits): Promise<void> {
  const keys = 'identity' in context ? ofUser(context, options) : ofAddress(context, options)
  for (const [key, limit] of keys) await context.limit(`passkeys:options:${key}`, limit)
}

/**
 * Limits the responses of passkeys, of a user or of an address.
 * @returns a function that gives the attempt back
 * @throws AuthError `RATE_LIMITED`
 */
export async function countAttempt(
  context: Context,
  { account, address }: PasskeyLimits,
): Promise<() => Promise<void>> {
  const keys = 'identity' in context ? ofUser(context, account) : ofAddress(context, address)
  for (const [key, limit] of keys) await context.limit(`passkeys:${key}`, limit)
  return async () => {
    for (const [key, limit] of keys) await context.giveBack(`passkeys:${key}`, limit)
  }
}

type Attempts = readonly (readonly [key: string, limit: RateLimit])[]

/** Per network, so someone with a copy of the session can't use up the owner's attempts. */
function ofUser({ identity, address }: AuthorizedContext, limit: RateLimit): Attempts {
  return [[`user:${identity.userId}:${clientNetwork(address)}`, limit]]
}

function ofAddress({ address }: EndpointContext, limit: RateLimit): Attempts {
  return addressBuckets(address, limit).map(({ name, limit }) => [`address:${name}`, limit])
}

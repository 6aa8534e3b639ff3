import type { RateLimit } from '../rate-limit/rate-limit.ts'
import { addressBuckets } from '../request/address.ts'
import type { EndpointContext } from './endpoint.ts'

/** Attempts to consume, one for each key of a limit. */
export type Attempts = readonly (readonly [key: string, limit: RateLimit])[]

/** Gives attempts back, such as after a success. */
export type GiveBack = () => Promise<void>

/** Consumes attempts. Returns a function that gives them back. @throws AuthError `RATE_LIMITED` */
export async function consume(context: EndpointContext, attempts: Attempts): Promise<GiveBack> {
  for (const attempt of attempts) await context.limit(...attempt)
  return () => giveBackAll(context, attempts)
}

async function giveBackAll({ giveBack }: EndpointContext, attempts: Attempts): Promise<void> {
  for (const attempt of attempts) await giveBack(...attempt)
}

/** Returns the attempts of the client's address, for one purpose. */
export function addressAttempts(
  { address }: EndpointContext,
  purpose: string,
  perClient: RateLimit,
): Attempts {
  return addressBuckets(address, perClient).map(({ name, limit }) => [`${purpose}:${name}`, limit])
}

/** Limits requests by the client's address, for one purpose. @throws AuthError `RATE_LIMITED` */
export async function limitAddress(
  context: EndpointContext,
  purpose: string,
  perClient: RateLimit,
): Promise<void> {
  await consume(context, addressAttempts(context, purpose, perClient))
}

/** Gives back one request that {@link limitAddress} has counted, since many people can share an address. */
export function giveBackAddress(
  context: EndpointContext,
  purpose: string,
  perClient: RateLimit,
): Promise<void> {
  return giveBackAll(context, addressAttempts(context, purpose, perClient))
}

import type { RateLimit } from '../rate-limit/rate-limit.ts'
import { addressBuckets } from '../request/address.ts'
import type { EndpointContext } from './endpoint.ts'

/** Limits requests by the client's address, for one purpose. @throws AuthError `RATE_LIMITED` */
export async function limitAddress(
  { address, limit }: EndpointContext,
  purpose: string,
  perClient: RateLimit,
): Promise<void> {
  for (const bucket of addressBuckets(address, perClient))
    await limit(`${purpose}:${bucket.name}`, bucket.limit)
}

/** Gives back one request that {@link limitAddress} has counted, since many people can share an address. */
export async function giveBackAddress(
  { address, giveBack }: EndpointContext,
  purpose: string,
  perClient: RateLimit,
): Promise<void> {
  for (const bucket of addressBuckets(address, perClient))
    await giveBack(`${purpose}:${bucket.name}`, bucket.limit)
}

import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { addressBuckets } from '../../request/address.ts'
import type { Settings } from './settings.ts'

type Counted = 'start' | 'callback' | 'code'

/** @throws AuthError `RATE_LIMITED` */
export async function countAddress(
  name: Counted,
  { address, limit }: EndpointContext,
  { limits }: Settings,
): Promise<void> {
  for (const bucket of addressBuckets(address, limits.address))
    await limit(`oauth:${name}:${bucket.name}`, bucket.limit)
}

/** Gives back what a sign-in that succeeded has used, since many people can share an address. */
export async function giveBackAddress(
  names: readonly Counted[],
  { address, giveBack }: EndpointContext,
  { limits }: Settings,
): Promise<void> {
  for (const bucket of addressBuckets(address, limits.address))
    for (const name of names) await giveBack(`oauth:${name}:${bucket.name}`, bucket.limit)
}

import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { limitAddress } from '../../endpoints/limit-address.ts'
import { addressBuckets } from '../../request/address.ts'
import type { Settings } from './settings.ts'

type Counted = 'start' | 'callback' | 'code'

/** @throws AuthError `RATE_LIMITED` */
export function countAddress(name: Counted, context: EndpointContext, { limits }: Settings): Promise<void> {
  return limitAddress(context, `oauth:${name}`, limits.address)
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

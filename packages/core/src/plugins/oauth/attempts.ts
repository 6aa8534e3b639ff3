import { giveBackAddress, limitAddress } from '../../endpoints/attempts.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import type { Settings } from './settings.ts'

export type Counted = 'start' | 'callback' | 'code'

/** @throws AuthError `RATE_LIMITED` */
export function countAddress(name: Counted, context: EndpointContext, { limits }: Settings): Promise<void> {
  return limitAddress(context, `oauth:${name}`, limits.address)
}

/** Gives back what an attempt that succeeded has used. */
export async function giveBackAttempt(
  names: readonly Counted[],
  context: EndpointContext,
  { limits }: Settings,
): Promise<void> {
  for (const name of names) await giveBackAddress(context, `oauth:${name}`, limits.address)
}

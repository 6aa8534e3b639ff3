import { type Attempts, addressAttempts, consume, type GiveBack } from '../../endpoints/attempts.ts'
import type { AuthorizedContext, EndpointContext } from '../../endpoints/endpoint.ts'
import { clientNetwork } from '../../request/address.ts'
import type { PasskeyLimits } from './settings.ts'

type Context = EndpointContext | AuthorizedContext

/** Limits the challenges of a user, or of an address. @throws AuthError `RATE_LIMITED` */
export async function countOptions(context: Context, { options }: PasskeyLimits): Promise<void> {
  await consume(context, attemptsOf(context, 'passkeys:options', { account: options, address: options }))
}

/** Limits the responses of passkeys, of a user or of an address. @throws AuthError `RATE_LIMITED` */
export function countAttempt(context: Context, limits: PasskeyLimits): Promise<GiveBack> {
  return consume(context, attemptsOf(context, 'passkeys', limits))
}

function attemptsOf(
  context: Context,
  purpose: string,
  { account, address }: Omit<PasskeyLimits, 'options'>,
): Attempts {
  if (!('identity' in context)) return addressAttempts(context, `${purpose}:address`, address)
  // Per network, so someone with a copy of the session can't use up the owner's attempts.
  return [[`${purpose}:user:${context.identity.userId}:${clientNetwork(context.address)}`, account]]
}

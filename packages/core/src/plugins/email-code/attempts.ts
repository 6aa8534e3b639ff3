import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { giveBackAddress, limitAddress } from '../../endpoints/limit-address.ts'
import { isAllowed, isEmailAllowed } from '../internal.ts'
import type { EmailCodeLimits } from './settings.ts'

const PURPOSE = 'email-code:address'

/** Limits requests and codes by the client's address. @throws AuthError `RATE_LIMITED` */
export function countAddress(context: EndpointContext, { address }: EmailCodeLimits): Promise<void> {
  return limitAddress(context, PURPOSE, address)
}

/** Gives back what a code and its request have used. The request of a known browser wasn't counted. */
export async function giveBackAttempt(
  { isCounted }: { isCounted: boolean },
  context: EndpointContext,
  { address }: EmailCodeLimits,
): Promise<void> {
  await giveBackAddress(context, PURPOSE, address)
  if (isCounted) await giveBackAddress(context, PURPOSE, address)
}

/** Returns whether an email may be sent. If not, respond as if it was: a 429 reveals others' requests. */
export function countEmail(
  { email, browser }: { email: string; browser: string | null },
  context: EndpointContext,
  limits: EmailCodeLimits,
): Promise<boolean> {
  // Others can't use up the budget of a known browser.
  if (browser !== null) return isAllowed(context, `email-code:browser:${browser}`, limits.email)
  return isEmailAllowed(context, email, { purpose: 'email-code', limits })
}

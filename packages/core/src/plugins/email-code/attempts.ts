import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { limitAddress } from '../../endpoints/limit-address.ts'
import { isAllowed, isEmailAllowed } from '../internal.ts'
import type { EmailCodeLimits } from './settings.ts'

/** Limits requests and codes by the client's address. @throws AuthError `RATE_LIMITED` */
export function countAddress(context: EndpointContext, { address }: EmailCodeLimits): Promise<void> {
  return limitAddress(context, 'email-code:address', address)
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

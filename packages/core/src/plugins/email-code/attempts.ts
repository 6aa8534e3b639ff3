import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { giveBackAddress, limitAddress } from '../../endpoints/limit-address.ts'
import { giveBackEmail, isAllowed, isEmailAllowed } from '../internal.ts'
import type { EmailCodeLimits } from './settings.ts'

const PURPOSES = { address: 'email-code:address', email: 'email-code' } as const

/** Limits requests and codes by the client's address. @throws AuthError `RATE_LIMITED` */
export function countAddress(context: EndpointContext, { address }: EmailCodeLimits): Promise<void> {
  return limitAddress(context, PURPOSES.address, address)
}

/** Gives back the attempts that a code and its request used up. A known browser's request uses none. */
export async function giveBackAttempt(
  { isCounted }: { isCounted: boolean },
  context: EndpointContext,
  { address }: EmailCodeLimits,
): Promise<void> {
  await giveBackAddress(context, PURPOSES.address, address)
  if (isCounted) await giveBackAddress(context, PURPOSES.address, address)
}

interface RequestedEmail {
  readonly email: string
  /** A known browser, whose budget others can't use up; null for any other. */
  readonly browser: string | null
}

/** Returns whether an email may be sent. If not, respond as if it was: a 429 reveals others' requests. */
export function countEmail(
  { email, browser }: RequestedEmail,
  context: EndpointContext,
  limits: EmailCodeLimits,
): Promise<boolean> {
  if (browser !== null) return isAllowed(context, keyOf(browser), limits.email)
  return isEmailAllowed(context, email, { purpose: PURPOSES.email, limits })
}

/** Gives back the attempts that {@link countEmail} used up for an email that wasn't sent. */
export function giveBackRequest(
  { email, browser }: RequestedEmail,
  context: EndpointContext,
  limits: EmailCodeLimits,
): Promise<void> {
  if (browser !== null) return context.giveBack(keyOf(browser), limits.email)
  return giveBackEmail(context, email, { purpose: PURPOSES.email, limits })
}

const keyOf = (browser: string) => `${PURPOSES.email}:browser:${browser}`

import { type GiveBack, giveBackAddress, limitAddress } from '../../endpoints/attempts.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { emailAttempts, tryConsume } from '../internal.ts'
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

/**
 * Counts an email. Returns null over a limit. Then send none, but respond as if you did: a 429 reveals
 * others' requests.
 */
export async function countEmail(
  { email, browser }: RequestedEmail,
  context: EndpointContext,
  limits: EmailCodeLimits,
): Promise<GiveBack | null> {
  const purpose = PURPOSES.email
  if (browser !== null) return tryConsume(context, [[`${purpose}:browser:${browser}`, limits.email]])
  return tryConsume(context, await emailAttempts(context, email, { purpose, limits }))
}

import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { addressBuckets, clientNetwork } from '../../request/address.ts'
import { hashSecret } from '../../session/secret.ts'
import { isAllowed } from '../internal.ts'
import type { EmailCodeLimits } from './settings.ts'

/** Limits requests and codes by the client's address. @throws AuthError `RATE_LIMITED` */
export async function countAddress(context: EndpointContext, { address }: EmailCodeLimits): Promise<void> {
  for (const { name, limit } of addressBuckets(context.address, address))
    await context.limit(`email-code:address:${name}`, limit)
}

/** Returns whether an email may be sent. If not, respond as if it was: a 429 reveals others' requests. */
export async function countEmail(
  { email, browser }: { email: string; browser: string | null },
  context: EndpointContext,
  limits: EmailCodeLimits,
): Promise<boolean> {
  // Others can't use up the budget of a known browser.
  if (browser !== null) return isAllowed(context, `email-code:browser:${browser}`, limits.email)
  const mailbox = await hashSecret(email)
  return (
    (await isAllowed(context, `email-code:${clientNetwork(context.address)}:${mailbox}`, limits.email)) &&
    (await isAllowed(context, `email-code:${mailbox}`, limits.mailbox))
  )
}

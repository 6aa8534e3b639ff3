import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { emailUser } from '../email-user.ts'
import type { PasskeyEmail, Settings } from './settings.ts'

/** Emails the user, after the response. */
export function sendNotice(
  { kind, name, userId }: { kind: PasskeyEmail['kind']; name: string; userId: string },
  context: EndpointContext,
  { sendEmail }: Settings,
): void {
  if (sendEmail === undefined) return
  emailUser(userId, context, (user) => sendEmail({ kind, to: user.email, user, passkey: { name } }))
}

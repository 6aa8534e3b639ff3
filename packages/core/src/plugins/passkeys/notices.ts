import type { AuthorizedContext } from '../../endpoints/endpoint.ts'
import { emailUser } from '../email-user.ts'
import type { PasskeyEmail, Settings } from './settings.ts'

/** Emails the user, after the response. */
export function sendNotice(
  { kind, name }: { kind: PasskeyEmail['kind']; name: string },
  context: AuthorizedContext,
  { sendEmail }: Settings,
): void {
  if (sendEmail === undefined) return
  emailUser(context.identity.userId, context, (user) =>
    sendEmail({ kind, to: user.email, user, passkey: { name } }),
  )
}

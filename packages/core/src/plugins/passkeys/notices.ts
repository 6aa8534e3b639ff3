import type { AuthorizedContext } from '../../endpoints/endpoint.ts'
import type { PasskeyEmail, Settings } from './settings.ts'

/** Emails the user, after the response. */
export function sendNotice(
  { kind, name }: { kind: PasskeyEmail['kind']; name: string },
  { later, session }: AuthorizedContext,
  { sendEmail }: Settings,
): void {
  if (sendEmail === undefined) return
  const { id, name: userName, email } = session.user
  const user = { id, name: userName, email }
  later(() => sendEmail({ kind, to: email, user, passkey: { name } }))
}

import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { emailUser } from '../email-user.ts'
import type { AccountEmail } from './options.ts'
import type { Provider } from './providers.ts'
import type { Settings } from './settings.ts'

/** Emails the user, after the response. */
export function sendNotice(
  kind: AccountEmail['kind'],
  { userId, provider }: { userId: string; provider: Pick<Provider, 'id'> },
  { sendEmail, ...context }: EndpointContext & Pick<Settings, 'sendEmail'>,
): void {
  if (sendEmail === undefined) return
  emailUser(userId, context, (user) => sendEmail({ kind, to: user.email, user, provider: provider.id }))
}

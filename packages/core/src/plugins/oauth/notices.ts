import type { EndpointContext } from '../../endpoints/endpoint.ts'
import type { AccountEmail } from './options.ts'
import type { Provider } from './providers.ts'
import type { Settings } from './settings.ts'

/** Emails the user, after the response. */
export function sendNotice(
  kind: AccountEmail['kind'],
  { userId, provider }: { userId: string; provider: Pick<Provider, 'id'> },
  { later, database: { db }, sendEmail }: EndpointContext & Pick<Settings, 'sendEmail'>,
): void {
  if (sendEmail === undefined) return
  later(async () => {
    const query = db.selectFrom('user').select(['id', 'name', 'email']).where('id', '=', userId)
    const user = await query.executeTakeFirst()
    if (user !== undefined) await sendEmail({ kind, to: user.email, user, provider: provider.id })
  })
}

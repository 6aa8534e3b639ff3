import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { emailUser } from '../email-user.ts'
import type { FactorEmail, Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** Emails the user, after the response. */
export function sendNotice(
  kind: FactorEmail['kind'],
  userId: string,
  { sendEmail, ...context }: EndpointContext & Pick<Settings, 'sendEmail'>,
): void {
  if (sendEmail === undefined) return
  emailUser({ kind, userId }, context, async (user) => {
    const codes = withOwnTables(context.database.db).selectFrom('recoveryCode').select('id')
    const { length } = await codes.where('userId', '=', userId).execute()
    await sendEmail({ kind, to: user.email, user, recoveryCodes: length })
  })
}

import type { EndpointContext } from '../../endpoints/endpoint.ts'
import type { FactorEmail, Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** Emails the user, after the response. */
export function sendNotice(
  kind: FactorEmail['kind'],
  userId: string,
  { later, database: { db }, sendEmail }: EndpointContext & Pick<Settings, 'sendEmail'>,
): void {
  if (sendEmail === undefined) return
  later(async () => {
    const query = db.selectFrom('user').select(['id', 'name', 'email']).where('id', '=', userId)
    const user = await query.executeTakeFirst()
    if (user === undefined) return
    const codes = withOwnTables(db).selectFrom('recoveryCode').select('id').where('userId', '=', userId)
    await sendEmail({ kind, to: user.email, user, recoveryCodes: (await codes.execute()).length })
  })
}

import { describeDevice } from '../../endpoints/device.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import type { SendEmail } from './send-email.ts'

/** A program that signs in again and again must not fill the mailbox. */
const NOTICES = { points: 10, duration: 60 * 60 }

const MAX_DEVICE_LENGTH = 64

/** Tells the user, after the response, that a browser signed in which the account doesn't know. */
export function tellOfSignIn(
  userId: string,
  { database, config, request, address, later }: EndpointContext,
  sendEmail: SendEmail,
): void {
  const at = config.now()
  const device = describeDevice(request.header('user-agent'))?.slice(0, MAX_DEVICE_LENGTH) ?? null
  later(async () => {
    if ((await database.limits.consume(`new-sign-in:${userId}`, NOTICES)) !== null) return
    const user = await database.db
      .selectFrom('user')
      .select(['id', 'name', 'email'])
      .where('id', '=', userId)
      .executeTakeFirst()
    if (user !== undefined)
      await sendEmail({ kind: 'new-sign-in', to: user.email, user, at, address, device })
  })
}

import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import type { BrowserMemory, EndpointContext } from '../../endpoints/endpoint.ts'
import { describeDevice } from '../../endpoints/session-list.ts'
import { hashSecret } from '../../session/secret.ts'
import { sendNotice } from '../email-user.ts'
import { type KnownBrowsers, knownBrowsers, signInMemory } from '../known-browsers.ts'
import type { SendEmail } from './send-email.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** Browsers that have signed in. */
export const devices: KnownBrowsers = knownBrowsers({
  table: 'knownDevice',
  suffix: '',
  keyOf: async (userId, secret) => ({ device: await hashSecret(secret), userId }),
})

/** Remembers browsers, and notifies the user when an unknown one signs in. */
export function knownDevices({ sendEmail }: Pick<Settings, 'sendEmail'>): BrowserMemory {
  return {
    ...signInMemory(devices),
    ...(sendEmail !== undefined && {
      report: (userId, context) => notifyOfSignIn(userId, context, sendEmail),
    }),
  }
}

/** Returns the hash of the device cookie; null without one, and for callers that send the session header. */
export async function readDevice(context: EndpointContext): Promise<string | null> {
  const secret = devices.readSecret(context)
  return secret === null ? null : hashSecret(secret)
}

/** Like {@link readDevice}, but null unless this browser has signed in to the account of this address. */
export async function readKnownDevice(address: string, context: EndpointContext): Promise<string | null> {
  const device = await readDevice(context)
  if (device === null) return null
  const known = await withOwnTables(context.database.db)
    .selectFrom('knownDevice')
    .innerJoin('user', 'user.id', 'knownDevice.userId')
    .select('knownDevice.id')
    .where('knownDevice.device', '=', device)
    .where('knownDevice.expiresAt', '>', context.config.now())
    .where('user.email', '=', address)
    .executeTakeFirst()
  return known === undefined ? null : device
}

/** Removes the browsers of a user, except this one if it has a cookie. */
export async function deleteOtherDevices(
  db: AuthKysely,
  { userId, device }: { userId: string; device: string | null },
): Promise<void> {
  const ofUser = withOwnTables(db).deleteFrom('knownDevice').where('userId', '=', userId)
  await ofUser.where('device', '!=', device ?? '').execute()
}

const MAX_DEVICE_LENGTH = 64

/** Emails the user, after the response, that an unknown browser signed in. */
function notifyOfSignIn(userId: string, context: EndpointContext, sendEmail: SendEmail): void {
  const { config, request, address } = context
  const at = config.now()
  const device = describeDevice(request.header('user-agent'))?.slice(0, MAX_DEVICE_LENGTH) ?? null
  const notice = { kind: 'new-sign-in', at, address, device } as const
  sendNotice(notice, { userId, context, settings: { sendEmail } })
}

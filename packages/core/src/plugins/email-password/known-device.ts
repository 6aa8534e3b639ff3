import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import type { BrowserMemory, EndpointContext } from '../../endpoints/endpoint.ts'
import { describeDevice } from '../../endpoints/session-list.ts'
import { readCookie, setCookie } from '../../request/cookie.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { emailUser } from '../email-user.ts'
import { whileSession } from '../known-browsers.ts'
import type { SendEmail } from './send-email.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

const LIFETIME_SECONDS = 180 * 24 * 60 * 60
const MAX_DEVICES = 20

/** Returns the hash of the device cookie; null without one, and for callers that send the session header. */
export async function readDevice(context: EndpointContext): Promise<string | null> {
  const secret = readDeviceCookie(context)
  return secret === null ? null : hashSecret(secret)
}

function readDeviceCookie({ config, request, sessionTransport }: EndpointContext): string | null {
  return sessionTransport === 'header' ? null : readCookie(request.header('cookie'), config.cookies.device)
}

/** Remembers browsers for 180 days, and tells users of others that sign in. */
export function knownDevices({ sendEmail }: Pick<Settings, 'sendEmail'>): BrowserMemory {
  return {
    isKnown: async (userId, context) =>
      (await findDevice({ column: 'user.id', value: userId ?? '' }, context)) !== null,
    remember,
    forget: (userId, trx) => deleteDevices(trx, { userId, except: null }),
    ...(sendEmail !== undefined && {
      report: (userId, context) => notifyOfSignIn(userId, context, sendEmail),
    }),
  }
}

/** Like {@link readDevice}, but null unless this browser has signed in to the account of this address. */
export function readKnownDevice(address: string, context: EndpointContext): Promise<string | null> {
  return findDevice({ column: 'user.email', value: address }, context)
}

async function findDevice(
  { column, value }: { column: 'user.email' | 'user.id'; value: string },
  context: EndpointContext,
): Promise<string | null> {
  const device = await readDevice(context)
  if (device === null) return null
  const known = await withOwnTables(context.database.db)
    .selectFrom('knownDevice')
    .innerJoin('user', 'user.id', 'knownDevice.userId')
    .select('knownDevice.id')
    .where('knownDevice.device', '=', device)
    .where('knownDevice.expiresAt', '>', context.config.now())
    .where(column, '=', value)
    .executeTakeFirst()
  return known === undefined ? null : device
}

/**
 * Remembers that this browser has signed in to an account, and returns its cookie. An unknown browser always
 * gets a new secret: its cookie may have been planted. Ignores callers without cookies.
 */
async function remember(
  { userId, sessionId }: { userId: string; sessionId: string },
  context: EndpointContext,
): Promise<string[]> {
  const { config, sessionTransport } = context
  if (sessionTransport === 'header') return []
  const now = config.now()
  const expiresAt = new Date(now.getTime() + LIFETIME_SECONDS * 1000)
  const isKnown = (await findDevice({ column: 'user.id', value: userId }, context)) !== null
  const secret = (isKnown ? readDeviceCookie(context) : null) ?? createSecret()
  const row = { id: crypto.randomUUID(), device: await hashSecret(secret), userId, expiresAt, createdAt: now }
  await whileSession({ userId, sessionId }, context, async (trx) => {
    const db = withOwnTables(trx)
    const insert = db.insertInto('knownDevice').values(row)
    await insert
      .onConflict((known) => known.columns(['device', 'userId']).doUpdateSet({ expiresAt }))
      .execute()
    const query = db.selectFrom('knownDevice').select('id').where('userId', '=', userId)
    const devices = await query.orderBy('expiresAt', 'desc').execute()
    const oldest = devices.slice(MAX_DEVICES).map(({ id }) => id)
    if (oldest.length > 0) await db.deleteFrom('knownDevice').where('id', 'in', oldest).execute()
  })
  return [setCookie(config.cookies.device, secret, { maxAgeSeconds: LIFETIME_SECONDS, ...config.cookies })]
}

export async function deleteDevices(
  db: AuthKysely,
  { userId, except }: { userId: string; except: string | null },
): Promise<void> {
  const devices = withOwnTables(db).deleteFrom('knownDevice').where('userId', '=', userId)
  await devices.where('device', '!=', except ?? '').execute()
}

/** A program that signs in repeatedly must not fill the mailbox. */
const NOTICES = { points: 10, duration: 60 * 60 }

const MAX_DEVICE_LENGTH = 64

/** Emails the user, after the response, that an unknown browser signed in. */
function notifyOfSignIn(userId: string, context: EndpointContext, sendEmail: SendEmail): void {
  const { database, config, request, address } = context
  const at = config.now()
  const device = describeDevice(request.header('user-agent'))?.slice(0, MAX_DEVICE_LENGTH) ?? null
  emailUser(userId, context, async (user) => {
    if ((await database.limits.consume(`new-sign-in:${userId}`, NOTICES)) === null)
      await sendEmail({ kind: 'new-sign-in', to: user.email, user, at, address, device })
  })
}

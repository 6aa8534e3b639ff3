import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { lockUsers } from '../../lifecycle/lock-user.ts'
import { readCookie, setCookie } from '../../request/cookie.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { type EmailPasswordKysely, withOwnTables } from './tables.ts'

const LIFETIME_SECONDS = 180 * 24 * 60 * 60
const MAX_DEVICES = 20

/** The hash of the device cookie; null where there is none, or where it counts for nothing. */
export async function readDevice({
  request,
  config,
  sessionTransport,
}: EndpointContext): Promise<string | null> {
  if (sessionTransport === 'header') return null
  const secret = readCookie(request.header('cookie'), config.cookies.device)
  return secret === null ? null : hashSecret(secret)
}

/**
 * The hash of the device cookie if this browser has signed in to the account of this address before, else
 * null. Attempts of a known device are counted separately, so no stranger's attempts can lock it out.
 */
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

/**
 * Remembers that this browser has signed in to an account. Returns the cookie by which it will be known; an array of none or one. A cookie
 * that the account does not know may have been planted, so it is never taken over. Whoever sends the session header keeps none, and must
 * not push out one that is kept.
 */
export async function rememberDevice(userId: string, context: EndpointContext): Promise<string[]> {
  const { config, database, sessionTransport } = context
  if (sessionTransport === 'header') return []
  const now = config.now()
  const expiresAt = new Date(now.getTime() + LIFETIME_SECONDS * 1000)
  const sent = await readDevice(context)
  const secret = createSecret()
  const device = await hashSecret(secret)
  const isNew = await database.db.transaction().execute(async (trx) => {
    // Gone since they signed in.
    if ((await lockUsers(trx, [userId])).length === 0) return false
    const own = withOwnTables(trx)
    const { numUpdatedRows } = await own
      .updateTable('knownDevice')
      .set({ expiresAt })
      .where('userId', '=', userId)
      .where('device', '=', sent ?? '')
      .executeTakeFirst()
    if (numUpdatedRows > 0n) return false
    const known = { id: crypto.randomUUID(), device, userId, expiresAt, createdAt: now }
    await own.insertInto('knownDevice').values(known).execute()
    await forgetOldest(own, userId)
    return true
  })
  if (!isNew) return []
  return [
    setCookie(config.cookies.device, secret, { maxAgeSeconds: LIFETIME_SECONDS, secure: config.secure }),
  ]
}

/** Forgets the browsers of a user, but for the one at hand: their password is another now. */
export async function forgetDevices(
  db: EmailPasswordKysely,
  { userId, except }: { userId: string; except: string | null },
): Promise<void> {
  await db
    .deleteFrom('knownDevice')
    .where('userId', '=', userId)
    .where('device', '!=', except ?? '')
    .execute()
}

async function forgetOldest(db: EmailPasswordKysely, userId: string): Promise<void> {
  const devices = await db
    .selectFrom('knownDevice')
    .select('id')
    .where('userId', '=', userId)
    .orderBy('expiresAt', 'desc')
    .execute()
  const oldest = devices.slice(MAX_DEVICES).map(({ id }) => id)
  if (oldest.length > 0) await db.deleteFrom('knownDevice').where('id', 'in', oldest).execute()
}

import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { readCookie, setCookie } from '../../request/cookie.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { withOwnTables } from './tables.ts'

const MAX_DEVICES = 20

/** Returns whether this user has trusted this browser. Programs with the session header have no cookies. */
export async function isTrustedDevice(userId: string, context: EndpointContext): Promise<boolean> {
  const { config, database, request, sessionTransport } = context
  if (sessionTransport === 'header') return false
  const secret = readCookie(request.header('cookie'), nameOf(context))
  if (secret === null) return false
  const query = withOwnTables(database.db).selectFrom('trustedDevice').select('id')
  const device = query.where('id', '=', await hashOf(userId, secret)).where('userId', '=', userId)
  return (await device.where('expiresAt', '>', config.now()).executeTakeFirst()) !== undefined
}

/** Trusts this browser, and returns its cookie. */
export async function trustDevice(
  userId: string,
  seconds: number,
  context: EndpointContext,
): Promise<string[]> {
  const { config, database, sessionTransport } = context
  if (sessionTransport === 'header' || seconds === 0) return []
  const now = config.now()
  const secret = createSecret()
  const expiresAt = new Date(now.getTime() + seconds * 1000)
  const row = { id: await hashOf(userId, secret), userId, expiresAt, createdAt: now }
  await database.db.transaction().execute(async (trx) => {
    // The user may have been deleted since they signed in.
    if ((await lockUsers(trx, [userId])).length === 0) return
    const db = withOwnTables(trx)
    await db.insertInto('trustedDevice').values(row).execute()
    const query = db.selectFrom('trustedDevice').select('id').where('userId', '=', userId)
    const devices = await query.orderBy('expiresAt', 'desc').execute()
    const oldest = devices.slice(MAX_DEVICES).map(({ id }) => id)
    if (oldest.length > 0) await db.deleteFrom('trustedDevice').where('id', 'in', oldest).execute()
  })
  return [setCookie(nameOf(context), secret, { maxAgeSeconds: seconds, ...config.cookies })]
}

export async function deleteTrustedDevices(db: AuthKysely, userId: string): Promise<void> {
  await withOwnTables(db).deleteFrom('trustedDevice').where('userId', '=', userId).execute()
}

function nameOf({ config }: EndpointContext): string {
  return `${config.cookies.device}-trusted`
}

function hashOf(userId: string, secret: string): Promise<string> {
  return hashSecret(JSON.stringify([userId, secret]))
}

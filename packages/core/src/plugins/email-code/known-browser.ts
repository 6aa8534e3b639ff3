import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { readCookie, setCookie } from '../../request/cookie.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { withOwnTables } from './tables.ts'

const LIFETIME_SECONDS = 180 * 24 * 60 * 60
const MAX_BROWSERS = 20

/**
 * Returns the id of this browser if this user has signed in with it before, otherwise null. Without a user it
 * does the same work. Programs with the session header have no cookies.
 */
export async function readKnownBrowser(
  userId: string | null,
  context: EndpointContext,
): Promise<string | null> {
  const { config, database, request, sessionTransport } = context
  if (sessionTransport === 'header') return null
  const secret = readCookie(request.header('cookie'), nameOf(context))
  if (secret === null) return null
  const query = withOwnTables(database.db).selectFrom('emailCodeBrowser').select('id')
  const known = query.where('id', '=', await hashOf(userId, secret)).where('expiresAt', '>', config.now())
  return (await known.executeTakeFirst())?.id ?? null
}

/**
 * Remembers that this user has signed in with this browser, and returns its cookie. The secret is always new:
 * an unknown cookie may have been planted.
 */
export async function rememberBrowser(userId: string, context: EndpointContext): Promise<string[]> {
  const { config, database, sessionTransport } = context
  if (sessionTransport === 'header') return []
  const now = config.now()
  const secret = createSecret()
  const expiresAt = new Date(now.getTime() + LIFETIME_SECONDS * 1000)
  const row = { id: await hashOf(userId, secret), userId, expiresAt, createdAt: now }
  await database.db.transaction().execute(async (trx) => {
    // The user may have been deleted since they signed in.
    if ((await lockUsers(trx, [userId])).length === 0) return
    const db = withOwnTables(trx)
    await db.insertInto('emailCodeBrowser').values(row).execute()
    const query = db.selectFrom('emailCodeBrowser').select('id').where('userId', '=', userId)
    const browsers = await query.orderBy('expiresAt', 'desc').execute()
    const oldest = browsers.slice(MAX_BROWSERS).map(({ id }) => id)
    if (oldest.length > 0) await db.deleteFrom('emailCodeBrowser').where('id', 'in', oldest).execute()
  })
  return [setCookie(nameOf(context), secret, { maxAgeSeconds: LIFETIME_SECONDS, ...config.cookies })]
}

function nameOf({ config }: EndpointContext): string {
  return `${config.cookies.device}-email`
}

function hashOf(userId: string | null, secret: string): Promise<string> {
  return hashSecret(JSON.stringify([userId, secret]))
}

import type { AuthKysely, Timestamp } from '../database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../database/session-database.ts'
import type { EndpointContext } from '../endpoints/endpoint.ts'
import { lockUsers } from '../lifecycle/locked-sessions.ts'
import { readCookie, setCookie } from '../request/cookie.ts'
import { createSecret, hashSecret } from '../session/secret.ts'

const MAX_BROWSERS = 20

/** A browser of a user. `id` is a hash of the user and the secret in the cookie. */
export interface KnownBrowserRow {
  id: string
  userId: string
  expiresAt: Timestamp
  createdAt: Timestamp
}

type Table = 'emailCodeBrowser' | 'trustedDevice'

/** The browsers in a table of a plugin. Programs with the session header have no cookies: none is known. */
export interface KnownBrowsers {
  /**
   * Returns the id of this browser if it is known for this user, otherwise null. Without a user, it does the
   * same work.
   */
  find(userId: string | null, context: EndpointContext, db?: AuthKysely): Promise<string | null>
  /**
   * Adds this browser, or extends the time that it is known, and returns its cookie. An unknown browser
   * always gets a new secret: its cookie may have been planted.
   */
  remember(
    browser: { userId: string; sessionId: string; seconds: number },
    context: EndpointContext,
  ): Promise<string[]>
  /** Removes all browsers of a user. */
  forget(db: AuthKysely, userId: string): Promise<void>
}

/** @param suffix of the name of the cookie, after that of the device cookie */
export function knownBrowsers(table: Table, suffix: string): KnownBrowsers {
  const nameOf = ({ config }: EndpointContext) => `${config.cookies.device}-${suffix}`
  const rowsOf = (db: AuthKysely) => db.withTables<Record<Table, KnownBrowserRow>>()
  return {
    async find(userId, context, db = context.database.db) {
      const { config, request, sessionTransport } = context
      if (sessionTransport === 'header') return null
      const secret = readCookie(request.header('cookie'), nameOf(context))
      if (secret === null) return null
      const query = rowsOf(db).selectFrom(table).select('id')
      const known = query.where('id', '=', await hashOf(userId, secret)).where('expiresAt', '>', config.now())
      return (await known.executeTakeFirst())?.id ?? null
    },
    async remember({ userId, sessionId, seconds }, context) {
      const { config, request, sessionTransport } = context
      if (sessionTransport === 'header' || seconds === 0) return []
      const now = config.now()
      const isKnown = (await this.find(userId, context)) !== null
      const sent = isKnown ? readCookie(request.header('cookie'), nameOf(context)) : null
      const secret = sent ?? createSecret()
      const expiresAt = new Date(now.getTime() + seconds * 1000)
      const row = { id: await hashOf(userId, secret), userId, expiresAt, createdAt: now }
      await whileSession({ userId, sessionId }, context, async (trx) => {
        const db = rowsOf(trx)
        const insert = db.insertInto(table).values(row)
        await insert.onConflict((known) => known.column('id').doUpdateSet({ expiresAt })).execute()
        const query = db.selectFrom(table).select('id').where('userId', '=', userId)
        const browsers = await query.orderBy('expiresAt', 'desc').execute()
        const oldest = browsers.slice(MAX_BROWSERS).map(({ id }) => id)
        if (oldest.length > 0) await db.deleteFrom(table).where('id', 'in', oldest).execute()
      })
      return [setCookie(nameOf(context), secret, { maxAgeSeconds: seconds, ...config.cookies })]
    },
    async forget(db, userId) {
      await rowsOf(db).deleteFrom(table).where('userId', '=', userId).execute()
    },
  }
}

/** Does work in a transaction, unless the session has ended, such as by a reset that forgot the browsers. */
export async function whileSession(
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string },
  { database }: Pick<EndpointContext, 'database'>,
  work: (trx: AuthTransaction) => Promise<void>,
): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    await lockUsers(trx, [userId])
    const sessions = trx.selectFrom('session').select('id').where('id', '=', sessionId)
    if ((await sessions.executeTakeFirst()) !== undefined) await work(trx)
  })
}

function hashOf(userId: string | null, secret: string): Promise<string> {
  return hashSecret(JSON.stringify([userId, secret]))
}

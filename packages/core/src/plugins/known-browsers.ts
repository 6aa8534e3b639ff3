import type { AuthKysely, Timestamp } from '../database/schema/kysely-tables.ts'
import type { BrowserMemory, EndpointContext } from '../endpoints/endpoint.ts'
import { lockUsers } from '../lifecycle/locked-sessions.ts'
import { readCookie, setCookie } from '../request/cookie.ts'
import { createSecret, hashSecret } from '../session/secret.ts'

const MAX_BROWSERS = 20

const SIGN_IN_SECONDS = 180 * 24 * 60 * 60

/** A browser of a user. `id` is a hash of the user and the secret in the cookie; in `knownDevice`, random. */
export interface KnownBrowserRow {
  id: string
  userId: string
  expiresAt: Timestamp
  createdAt: Timestamp
}

type Table = 'emailCodeBrowser' | 'trustedDevice' | 'knownDevice'

/** Only `knownDevice` has `device`. It is optional, because the queries are written for all tables. */
type Rows = Record<Table, KnownBrowserRow & { device?: string }>

interface Options {
  readonly table: Table
  /** Appended to the name of the device cookie. */
  readonly suffix: string
  /** Returns the unique columns of a browser of a user. @default the `id` of {@link KnownBrowserRow} */
  keyOf?(userId: string, secret: string): Promise<{ id: string } | { device: string; userId: string }>
}

/** The browsers in a table of a plugin. Programs with the session header have no cookies: none is known. */
export interface KnownBrowsers {
  /** Returns the secret in the cookie, also of an unknown browser; null without a cookie. */
  readSecret(context: EndpointContext): string | null
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

export function knownBrowsers({ table, suffix, keyOf = hashedId }: Options): KnownBrowsers {
  const nameOf = ({ config }: EndpointContext) => `${config.cookies.device}${suffix}`
  const rowsOf = (db: AuthKysely) => db.$extendTables<Rows>()
  return {
    readSecret(context) {
      if (context.sessionTransport === 'header') return null
      return readCookie(context.request.header('cookie'), nameOf(context))
    },
    async find(userId, context, db = context.database.db) {
      const secret = this.readSecret(context)
      if (secret === null) return null
      const key = await keyOf(userId ?? '', secret)
      const query = rowsOf(db).selectFrom(table).select('id')
      const known = query.where(({ and }) => and(key)).where('expiresAt', '>', context.config.now())
      return (await known.executeTakeFirst())?.id ?? null
    },
    async remember({ userId, sessionId, seconds }, context) {
      const { config, sessionTransport } = context
      if (sessionTransport === 'header' || seconds === 0) return []
      const now = config.now()
      const isKnown = (await this.find(userId, context)) !== null
      const secret = (isKnown ? this.readSecret(context) : null) ?? createSecret()
      const expiresAt = new Date(now.getTime() + seconds * 1000)
      const key = await keyOf(userId, secret)
      const row = { id: crypto.randomUUID(), ...key, userId, expiresAt, createdAt: now }
      const unique = 'id' in key ? (['id'] as const) : (['device', 'userId'] as const)
      await whileSession({ userId, sessionId }, context, async (trx) => {
        const db = rowsOf(trx)
        const insert = db.insertInto(table).values(row)
        await insert.onConflict((known) => known.columns(unique).doUpdateSet({ expiresAt })).execute()
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

/** Remembers a browser for 180 days after it signs in. */
export function signInMemory(browsers: KnownBrowsers): BrowserMemory {
  return {
    isKnown: async (userId, context) => (await browsers.find(userId, context)) !== null,
    remember: (session, context) => browsers.remember({ ...session, seconds: SIGN_IN_SECONDS }, context),
    forget: (userId, trx) => browsers.forget(trx, userId),
  }
}

/** Does work in a transaction, unless the session has ended, such as by a reset that forgot the browsers. */
async function whileSession(
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string },
  { database }: Pick<EndpointContext, 'database'>,
  work: (trx: AuthKysely) => Promise<void>,
): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    await lockUsers(trx, [userId])
    const sessions = trx.selectFrom('session').select('id').where('id', '=', sessionId)
    if ((await sessions.executeTakeFirst()) !== undefined) await work(trx)
  })
}

async function hashedId(userId: string, secret: string): Promise<{ id: string }> {
  return { id: await hashSecret(JSON.stringify([userId, secret])) }
}

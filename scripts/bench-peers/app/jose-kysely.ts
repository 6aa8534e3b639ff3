import { errors, jwtVerify, SignJWT } from 'jose'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import { fromHeaders } from './from-headers.ts'
import { openDatabase } from './open-database.ts'
import { BASE_URL, type Peer, type Seeder } from './peer.ts'

interface Tables {
  user: { id: string; name: string; role: string }
  session: { id: string; userId: string; expiresAt: number }
}

const SECRET = new TextEncoder().encode('a-secret-of-at-least-32-characters-for-the-bench')
/** Imported once: jose would import bytes for each token. */
const key = await crypto.subtle.importKey('raw', SECRET, { name: 'HMAC', hash: 'SHA-256' }, false, [
  'sign',
  'verify',
])

/** Careful code of an app: it verifies the JWT, and reads the session with its user. */
export async function open(url: string): Promise<Peer> {
  const db = await openKysely(url)
  return fromHeaders({
    async getSession(headers) {
      const token = /(?:^|; )token=([^;]+)/.exec(headers.get('cookie') ?? '')?.[1]
      const sessionId = token === undefined ? null : await verify(token)
      if (sessionId === null) return null
      const row = await db
        .selectFrom('session')
        .innerJoin('user', 'user.id', 'session.userId')
        .select(['session.id', 'session.userId', 'session.expiresAt', 'user.name', 'user.role'])
        .where('session.id', '=', sessionId)
        .where('session.expiresAt', '>', Date.now())
        .executeTakeFirst()
      return row ?? null
    },
    respondToAuth: async () => new Response('Not found', { status: 404 }),
  })
}

async function verify(token: string): Promise<string | null> {
  try {
    const { payload } = await jwtVerify(token, key, { issuer: BASE_URL, audience: BASE_URL })
    return payload.jti ?? null
  } catch (error) {
    if (error instanceof errors.JOSEError) return null
    throw error
  }
}

export async function seed(url: string): Promise<Seeder> {
  const db = await openKysely(url)
  await db.schema
    .createTable('user')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('session')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('userId', 'text', (column) => column.notNull().references('user.id'))
    .addColumn('expiresAt', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('session_user').on('session').column('userId').execute()
  const sessions = new Map<string, string>()
  return {
    async signUp(name) {
      const id = crypto.randomUUID()
      await db.insertInto('user').values({ id, name, role: 'user' }).execute()
      return id
    },
    async signIn(userId) {
      const id = crypto.randomUUID()
      const expiresAt = Date.now() + 30 * 86_400_000
      await db.insertInto('session').values({ id, userId, expiresAt }).execute()
      const token = await new SignJWT()
        .setProtectedHeader({ alg: 'HS256' })
        .setSubject(userId)
        .setJti(id)
        .setIssuer(BASE_URL)
        .setAudience(BASE_URL)
        .setExpirationTime('30d')
        .sign(key)
      sessions.set(`token=${token}`, id)
      return `token=${token}`
    },
    async revoke(cookie) {
      await db
        .deleteFrom('session')
        .where('id', '=', sessions.get(cookie) ?? '')
        .execute()
    },
  }
}

async function openKysely(url: string): Promise<Kysely<Tables>> {
  const database = await openDatabase(url)
  const dialect =
    'pool' in database
      ? new PostgresDialect({ pool: database.pool })
      : new SqliteDialect({ database: database.sqlite })
  return new Kysely<Tables>({ dialect })
}

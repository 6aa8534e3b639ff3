import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { type AuthTables, issueJwt } from '@sallyport/core/auth'
import type { Kysely } from 'kysely'
import type { Issuer } from '../../../core/test/support/create-issuer.ts'
import { openDatabase } from './open-database.ts'

/** A user with one session, in one browser. */
export interface SignedIn {
  readonly userId: string
  readonly sessionId: string
  readonly version: number
  readonly issuer: string
  /** A `Cookie` header with both cookies. */
  readonly cookie: string
}

const ROWS_AT_ONCE = 500

interface Options {
  readonly issuer: Issuer
  /** @default user */
  readonly role?: string
}

/** Creates the tables and this many signed-in users. */
export async function signIn(databaseUrl: string, count: number, options: Options): Promise<SignedIn[]> {
  const { db, close } = await openDatabase(databaseUrl)
  const people = await insertSignedIn(db, count, options)
  await close()
  return people
}

/** Inserts this many signed-in users in bulk, since that many sign-ins would take minutes. */
export async function insertSignedIn(
  db: Pick<Kysely<AuthTables>, 'insertInto'>,
  count: number,
  { issuer: { config, key }, role = 'user' }: Options,
): Promise<SignedIn[]> {
  const now = config.now()
  const expiresAt = new Date(now.getTime() + 86_400_000)
  const people = Array.from({ length: count }, () => ({
    userId: randomUUID(),
    sessionId: randomUUID(),
    secret: randomBytes(32).toString('base64url'),
  }))
  for (let from = 0; from < count; from += ROWS_AT_ONCE) {
    const some = people.slice(from, from + ROWS_AT_ONCE)
    const stamps = { createdAt: now, updatedAt: now }
    const nobody = { image: null, banReason: null, banExpires: null, emailVerified: true, banned: false }
    const users = some.map(({ userId }) => ({
      ...nobody,
      ...stamps,
      role,
      id: userId,
      name: 'Ada',
      email: `${userId}@example.com`,
    }))
    const unused = {
      ipAddress: null,
      userAgent: null,
      tokenFamily: null,
      previousToken: null,
      rotatedAt: null,
    }
    const sessions = some.map(({ userId, sessionId, secret }) => ({
      ...unused,
      ...stamps,
      userId,
      expiresAt,
      id: sessionId,
      token: `sha256:${createHash('sha256').update(secret).digest('hex')}`,
      remembered: true,
      lastAuthenticatedAt: now,
      lastSeenAt: now,
    }))
    await db.insertInto('user').values(users).execute()
    await db.insertInto('session').values(sessions).execute()
  }
  const { jwt, session } = config.cookies
  return Promise.all(
    people.map(async ({ userId, sessionId, secret }) => {
      const { token } = await issueJwt({ id: sessionId, userId, expiresAt }, { key, config })
      const { issuer } = config
      return {
        userId,
        sessionId,
        version: 1,
        issuer,
        cookie: `${jwt}=${token}; ${session}=${sessionId}.${secret}`,
      }
    }),
  )
}

/** Signs an admin in. */
export async function signInAdmin(databaseUrl: string, issuer: Issuer): Promise<SignedIn> {
  const [admin] = await signIn(databaseUrl, 1, { issuer, role: 'admin' })
  if (admin === undefined) throw new TypeError('One was expected')
  return admin
}

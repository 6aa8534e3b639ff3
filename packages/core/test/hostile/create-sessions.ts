import type { TestAuth } from '@sallyport/core/testing'
import type { Random } from './random.ts'

/** A session and its user. */
export interface HostileSession {
  readonly sessionId: string
  readonly userId: string
}

const USERS = 8

/**
 * Creates users with three sessions each. The first one has ended, by expiry for one user and by revocation
 * for the others.
 */
export async function createSessions(
  auth: TestAuth,
  random: Random,
): Promise<{ live: HostileSession[]; ended: HostileSession[] }> {
  const live: HostileSession[] = []
  const ended: HostileSession[] = []
  for (let user = 0; user < USERS; user++) {
    const userId = uuid(random)
    await insertUser(auth, userId)
    const first = { userId, sessionId: uuid(random) }
    const others = [uuid(random), uuid(random)].map((sessionId) => ({ userId, sessionId }))
    for (const session of [first, ...others]) await insertSession(auth, session, random)
    const ending = { ...first, token: '', version: 1, issuer: '', sessionCookie: '', cookie: '' }
    await (user === 0 ? auth.expireSession(ending) : auth.revoke(ending))
    ended.push(first)
    live.push(...others)
  }
  return { live, ended }
}

async function insertUser({ db, clock }: TestAuth, id: string): Promise<void> {
  const now = clock.now()
  await db
    .insertInto('user')
    .values({
      id,
      name: 'Test User',
      email: `${id}@example.com`,
      emailVerified: false,
      image: null,
      role: 'admin',
      banned: false,
      banReason: null,
      banExpires: null,
      createdAt: now,
      updatedAt: now,
    })
    .execute()
}

async function insertSession(
  { db, clock }: TestAuth,
  { sessionId, userId }: HostileSession,
  random: Random,
): Promise<void> {
  const now = clock.now()
  await db
    .insertInto('session')
    .values({
      id: sessionId,
      token: `sha256:${random.bytes(32).toString('hex')}`,
      userId,
      ipAddress: null,
      userAgent: null,
      expiresAt: new Date(now.getTime() + 86_400_000),
      remembered: true,
      previousToken: null,
      rotatedAt: null,
      tokenFamily: null,
      version: 1,
      provedVersion: 1,
      issuer: null,
      lastAuthenticatedAt: now,
      lastSeenAt: now,
      createdAt: now,
      updatedAt: now,
    })
    .execute()
}

function uuid(random: Random): string {
  return random
    .bytes(16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

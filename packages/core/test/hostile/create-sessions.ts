import type { TestAuth } from '@sallyport/core/testing'
import { insertSession, insertUser, type Named } from '../support/insert-rows.ts'
import type { Random } from './random.ts'

const USERS = 8

/**
 * Creates users with three sessions each. The first one has ended, by expiry for one user and by revocation
 * for the others.
 */
export async function createSessions(
  auth: TestAuth,
  random: Random,
): Promise<{ live: Named[]; ended: Named[] }> {
  const live: Named[] = []
  const ended: Named[] = []
  const at = auth.clock.now()
  const tomorrow = new Date(at.getTime() + 86_400_000)
  for (let user = 0; user < USERS; user++) {
    const userId = uuid(random)
    await insertUser(auth.db, userId, { role: 'admin', at })
    const first = { userId, sessionId: uuid(random) }
    const others = [uuid(random), uuid(random)].map((sessionId) => ({ userId, sessionId }))
    for (const session of [first, ...others]) await insertSession(auth.db, session, tomorrow, at)
    const ending = { ...first, token: '', version: 1, issuer: '', sessionCookie: '', cookie: '' }
    await (user === 0 ? auth.expireSession(ending) : auth.revoke(ending))
    ended.push(first)
    live.push(...others)
  }
  return { live, ended }
}

function uuid(random: Random): string {
  return random
    .bytes(16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

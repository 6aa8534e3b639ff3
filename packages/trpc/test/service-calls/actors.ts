import type { AuthTables } from '@sallyport/core/auth'
import type { Kysely } from 'kysely'
import type { Random } from '../../../core/test/hostile/random.ts'
import { insertSession, insertUser, type Named } from '../../../core/test/support/insert-rows.ts'

/** How a user's session may have ended, and the reason for the rejection of calls on the user's behalf. */
export const ENDINGS = [
  { name: 'was revoked', status: 401, code: 'SESSION_NOT_FOUND' },
  { name: 'has another session', status: 401, code: 'SESSION_NOT_FOUND' },
  { name: 'has expired', status: 401, code: 'SESSION_EXPIRED' },
  { name: 'was banned', status: 403, code: 'ACCOUNT_BANNED' },
] as const
export type Ending = (typeof ENDINGS)[number]['name']

/** A user for each ending, and one with a valid session. */
export type Actors = Readonly<Record<Ending | 'counts', Named>>

export async function createActors(tables: Kysely<AuthTables>, random: Random, now: number): Promise<Actors> {
  const later = new Date(now + 365 * 86_400_000)
  const create = (options: { expiresAt?: Date; banned?: boolean } = {}) =>
    insertActor(tables, random, { expiresAt: later, banned: false, ...options })
  const counts = await create()
  const revoked = await create()
  await tables.deleteFrom('session').where('id', '=', revoked.sessionId).execute()
  return {
    counts,
    'was revoked': revoked,
    'has another session': { userId: (await create()).userId, sessionId: counts.sessionId },
    'has expired': await create({ expiresAt: new Date(now) }),
    'was banned': await create({ banned: true }),
  }
}

/** Inserts a user with a session. */
export async function insertActor(
  tables: Kysely<AuthTables>,
  random: Random,
  { expiresAt, banned }: { expiresAt: Date; banned: boolean },
): Promise<Named> {
  const actor = { userId: random.bytes(12).toString('hex'), sessionId: random.bytes(12).toString('hex') }
  await insertUser(tables, actor.userId, { banned })
  await insertSession(tables, actor, expiresAt)
  return actor
}

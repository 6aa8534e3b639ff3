import type { AuthEvent } from '@sallyport/core'
import { banUser, commit } from '@sallyport/core/auth'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { liftBan, setBan } from '../../src/lifecycle/ban-user.ts'
import { validateSession } from '../../src/session/validate-session.ts'
import { reasonOf } from '../support/reason-of.ts'
import { collectRevocations } from '../support/revocations.ts'

const events: AuthEvent[] = []
const auth = await createTestAuth({ onEvent: (event) => void events.push(event) })
const { config, database, clock, db } = auth
const published = collectRevocations(database.revocations)
const signIn = async () => {
  const session = await auth.signIn()
  events.length = 0
  published.length = 0
  return session
}
beforeEach(() => {
  events.length = 0
  published.length = 0
})
afterAll(() => auth.close())

const now = () => clock.now()
const validate = (session: TestSession) => reasonOf(validateSession(session, database.sessions, config))
const userOf = (id: string) =>
  db
    .selectFrom('user')
    .select(['banned', 'banReason', 'banExpires', 'updatedAt'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
const auditOf = (userId: string, type: string) =>
  db
    .selectFrom('audit')
    .select(['actorId', 'detail', 'createdAt'])
    .where('userId', '=', userId)
    .where('type', '=', type)
    .execute()

describe('a ban', () => {
  test('leaves the sessions in place, counts at once, and is announced to all of them', async () => {
    const { userId, sessionId } = await signIn()
    expect(await banUser(userId, database, { now: now(), reason: 'spam' })).toBe(true)
    const session = await database.sessions.findSession({ sessionId, userId })
    expect(session?.ban).toEqual({ until: null })
    expect(published).toEqual([{ sessionId: null, userId }])
  })

  test('is done when it is announced', async () => {
    const { userId, sessionId } = await signIn()
    const found = new Promise((resolve) => {
      database.revocations.subscribe({ sessionId, userId }, () =>
        resolve(database.sessions.findSession({ sessionId, userId })),
      )
    })
    await banUser(userId, database, { now: now() })
    expect(await found).toMatchObject({ ban: { until: null } })
  })

  test('ends when it should', async () => {
    const ada = await signIn()
    const expires = new Date(now().getTime() + 1000)
    await banUser(ada.userId, database, { now: now(), expires })
    expect(await validate(ada)).toBe('ACCOUNT_BANNED')
    clock.advance(1)
    expect(await validate(ada)).toBe('accepted')
  })

  test('touches no one else', async () => {
    const [ada, bob] = [await auth.signIn(), await auth.signIn()]
    await auth.ban(ada)
    expect([await validate(ada), await validate(bob)]).toEqual(['ACCOUNT_BANNED', 'accepted'])
  })

  test('of a missing user returns false', async () => {
    expect(await banUser('missing', database, { now: now() })).toBe(false)
    expect([published, events]).toEqual([[], []])
    expect(await auditOf('missing', 'user.banned')).toEqual([])
  })

  test('takes the place of one before', async () => {
    const { userId } = await signIn()
    await banUser(userId, database, { now: now(), reason: 'spam', expires: new Date(now().getTime() + 1000) })
    await banUser(userId, database, { now: now() })
    expect(await userOf(userId)).toMatchObject({ banned: 1, banReason: null, banExpires: null })
  })

  test('is reported and recorded, with its reason, its end, who did it and when', async () => {
    const { userId } = await signIn()
    const at = now()
    const ban = { userId, reason: 'spam', expiresAt: new Date(at.getTime() + 1000), actorId: 'root', at }
    expect(await commit(database, (trx, record) => setBan(trx, record, ban))).toBe(true)
    expect(events).toEqual([{ type: 'user.banned', ...ban, from: null }])
    const detail = JSON.stringify({ reason: 'spam', expiresAt: ban.expiresAt, from: null })
    expect(await auditOf(userId, 'user.banned')).toEqual([
      { actorId: 'root', detail, createdAt: at.toISOString() },
    ])
    expect(await userOf(userId)).toEqual({
      banned: 1,
      banReason: 'spam',
      banExpires: ban.expiresAt.toISOString(),
      updatedAt: at.toISOString(),
    })
  })

  test("by the app's own code has no actor", async () => {
    const { userId } = await signIn()
    await banUser(userId, database, { now: now() })
    expect(events).toEqual([
      { type: 'user.banned', userId, reason: null, expiresAt: null, actorId: null, at: now(), from: null },
    ])
  })
})

test('a ban that replaces another is recorded with the terms of both', async () => {
  const { userId } = await signIn()
  const expires = new Date(now().getTime() + 1000)
  await banUser(userId, database, { now: now(), reason: 'spam', expires })
  events.length = 0
  await banUser(userId, database, { now: now(), reason: 'fraud' })
  const from = { reason: 'spam', expiresAt: expires.toISOString() }
  expect(events).toMatchObject([{ type: 'user.banned', reason: 'fraud', expiresAt: null, from }])
})

describe('a ban that is lifted', () => {
  const lift = (userId: string) =>
    commit(database, (trx, record) => liftBan(trx, record, { userId, actorId: 'root', at: now() }))

  test('is over at once, with all that was said of it', async () => {
    const ada = await signIn()
    const expires = new Date(now().getTime() + 1000)
    await banUser(ada.userId, database, { now: now(), reason: 'spam', expires })
    expect(await lift(ada.userId)).toBe(true)
    expect(await validate(ada)).toBe('accepted')
    expect(await userOf(ada.userId)).toMatchObject({ banned: 0, banReason: null, banExpires: null })
  })

  test('is reported and recorded, and ends no stream', async () => {
    const { userId } = await signIn()
    await banUser(userId, database, { now: now() })
    events.length = 0
    published.length = 0
    await lift(userId)
    const from = { reason: null, expiresAt: null }
    expect(events).toEqual([{ type: 'user.unbanned', userId, actorId: 'root', at: now(), from }])
    expect(await auditOf(userId, 'user.unbanned')).toEqual([
      { actorId: 'root', detail: JSON.stringify({ from }), createdAt: now().toISOString() },
    ])
    expect(published).toEqual([])
  })

  test.each([
    ['a user who is not banned', async () => (await signIn()).userId],
    ['missing', async () => 'missing'],
  ])('of %s is none', async (_name, given) => {
    const userId = await given()
    expect(await lift(userId)).toBe(false)
    expect(events).toEqual([])
    expect(await auditOf(userId, 'user.unbanned')).toEqual([])
  })

  test('leaves the bans of others', async () => {
    const [ada, bob] = [await signIn(), await signIn()]
    await auth.ban(ada)
    await auth.ban(bob)
    await lift(ada.userId)
    expect(await validate(bob)).toBe('ACCOUNT_BANNED')
  })
})

import type { AuthEvent } from '@sallyport/core'
import { commit, createSession, revokeSession, revokeSessions } from '@sallyport/core/auth'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { deleteSessionOf, deleteSessions, type SessionSelector } from '../../src/lifecycle/end-session.ts'
import { replaceCredentials } from '../../src/lifecycle/replace-credentials.ts'
import { createSecret, createSessionSecret } from '../../src/session/secret.ts'
import { collectRevocations, foundWhenAnnounced } from '../support/revocations.ts'
import { parseSessionCookie, WRONG_COOKIES } from '../support/session-cookie.ts'

const events: AuthEvent[] = []
const auth = await createTestAuth({ onEvent: (event) => void events.push(event) })
const { config, database, clock, db } = auth
const { userId } = await auth.createUser()
const published = collectRevocations(database.revocations)
beforeEach(async () => {
  await db.deleteFrom('session').execute()
  events.length = 0
  published.length = 0
})
afterAll(() => auth.close())

const begin = async (owner = userId) => {
  const { id, userId, cookie } = await createSession(database, { userId: owner, config })
  events.length = 0
  return { id, userId, cookie: parseSessionCookie(cookie) }
}
const idsOf = async () => (await db.selectFrom('session').select('id').execute()).map(({ id }) => id).sort()
const auditOf = (sessionId: string) =>
  db
    .selectFrom('sallyport.audit')
    .select(['type', 'userId', 'actorId', 'detail', 'createdAt'])
    .where('sessionId', '=', sessionId)
    .where('type', '=', 'session.revoked')
    .execute()
const ending = { cause: 'revoked', actorId: null, at: clock.now() } as const

describe('a revocation', () => {
  test('deletes only that session, and announces it after the commit', async () => {
    const [session, other] = [await begin(), await begin()]
    const found = foundWhenAnnounced({ sessionId: session.id, userId }, database)
    expect(await revokeSession(session.id, database)).toBe(true)
    expect(published).toEqual([{ sessionId: session.id, userId }])
    expect(await found).toBeNull()
    expect(await idsOf()).toEqual([other.id])
  })

  test('of an unknown session finds nothing, announces nothing, and records nothing', async () => {
    const before = await db.selectFrom('sallyport.audit').selectAll().execute()
    expect(await revokeSession('unknown', database)).toBe(false)
    expect(await revokeSession('', database)).toBe(false)
    expect(await revokeSessions('unknown', database)).toBe(0)
    expect([published, events]).toEqual([[], []])
    expect(await db.selectFrom('sallyport.audit').selectAll().execute()).toEqual(before)
  })

  test('finds nothing the second time', async () => {
    const { id } = await begin()
    await revokeSession(id, database)
    expect(await revokeSession(id, database)).toBe(false)
    expect(published).toHaveLength(1)
  })

  test('also works for an expired session', async () => {
    const { id } = await begin()
    await db.updateTable('session').set({ expiresAt: clock.now() }).where('id', '=', id).execute()
    expect(await revokeSession(id, database)).toBe(true)
  })

  test('is reported and recorded with its cause, actor, and time', async () => {
    const { id } = await begin()
    const ending = {
      cause: 'revoked-by-admin',
      actorId: 'root',
      at: new Date('2026-11-21T10:00:00.000Z'),
    } as const
    await revokeSession(id, database, ending)
    expect(events).toEqual([{ type: 'session.revoked', userId, sessionId: id, ...ending }])
    expect(await auditOf(id)).toEqual([
      {
        type: 'session.revoked',
        userId,
        actorId: 'root',
        detail: '{"cause":"revoked-by-admin"}',
        createdAt: '2026-11-21T10:00:00.000Z',
      },
    ])
  })

  test('is attributed to the app by default', async () => {
    await revokeSession((await begin()).id, database)
    await begin()
    await revokeSessions(userId, database)
    expect(events).toMatchObject([{ cause: 'revoked', actorId: null, at: expect.any(Date) }])
  })
})

describe('a revocation of all sessions of a user', () => {
  test("ends only that user's sessions, and publishes each one after the commit", async () => {
    const eve = await auth.createUser()
    const [one, two, others] = [await begin(), await begin(), await begin(eve.userId)]
    const found = foundWhenAnnounced({ sessionId: two.id, userId }, database)
    expect(await revokeSessions(userId, database, { cause: 'password-reset' })).toBe(2)
    const revoked = [one, two].map(({ id: sessionId }) => ({ sessionId, userId }))
    expect(published).toHaveLength(2)
    expect(published).toEqual(expect.arrayContaining(revoked))
    expect(await found).toBeNull()
    expect(events).toEqual(
      expect.arrayContaining(
        revoked.map((session) => expect.objectContaining({ ...session, cause: 'password-reset' })),
      ),
    )
    expect(await idsOf()).toEqual([others.id])
  })
})

describe('inside a transaction', () => {
  const select = (selector: SessionSelector) =>
    commit(database, (trx, record) => deleteSessions(trx, record, { ...selector, ...ending }))

  type Sessions = Record<'mine' | 'other' | 'eves', { id: string; userId: string }>
  test.each<[string, (sessions: Sessions) => SessionSelector, (keyof Sessions)[]]>([
    ['one by its id', ({ mine }) => ({ sessionId: mine.id }), ['mine']],
    ['all of a user', ({ mine }) => ({ userId: mine.userId }), ['mine', 'other']],
    ['all but one', ({ mine }) => ({ userId: mine.userId, exceptId: mine.id }), ['other']],
    ['one that is of the user', ({ mine }) => ({ sessionId: mine.id, userId: mine.userId }), ['mine']],
    [
      'none that belongs to another user',
      ({ mine, eves }) => ({ sessionId: eves.id, userId: mine.userId }),
      [],
    ],
    ['none that is to stay', ({ mine }) => ({ sessionId: mine.id, exceptId: mine.id }), []],
    ['none of a missing user', () => ({ userId: '' }), []],
  ])('ends sessions: %s', async (_name, selector, ended) => {
    const eve = await auth.createUser()
    const sessions = { mine: await begin(), other: await begin(), eves: await begin(eve.userId) }
    expect(await select(selector(sessions))).toBe(ended.length)
    const names = ['mine', 'other', 'eves'] as const
    const left = names.filter((name) => !ended.includes(name)).map((name) => sessions[name].id)
    expect(await idsOf()).toEqual(left.sort())
    const revoked = ended.map((name) => ({ sessionId: sessions[name].id, userId: sessions[name].userId }))
    expect(published).toHaveLength(ended.length)
    expect(published).toEqual(expect.arrayContaining(revoked))
  })

  test.each([{}, { exceptId: 'x' }])("can't end the sessions of all users: %j", async (selector) => {
    const { id } = await begin()
    await expect(select(selector)).rejects.toThrow(TypeError)
    expect(await idsOf()).toEqual([id])
  })

  test('that fails later ends no session and announces nothing', async () => {
    const { id } = await begin()
    const call = commit(database, async (trx, record) => {
      await deleteSessions(trx, record, { sessionId: id, ...ending })
      throw new Error('changed my mind')
    })
    await expect(call).rejects.toThrow('changed my mind')
    expect(await idsOf()).toEqual([id])
    expect([published, events]).toEqual([[], []])
  })
})

describe('ending the session of a session cookie', () => {
  const end = (cookie: { sessionId: string; secret: string }) =>
    commit(database, (trx, record) =>
      deleteSessionOf(cookie, { trx, record, cause: 'sign-out', at: clock.now() }),
    )

  test('works with its secret, and is announced after the commit', async () => {
    const [session, other] = [await begin(), await begin()]
    const found = foundWhenAnnounced({ sessionId: session.id, userId }, database)
    expect(await end(session.cookie)).toBe(true)
    expect(published).toEqual([{ sessionId: session.id, userId }])
    expect(await found).toBeNull()
    expect(events).toEqual([
      {
        type: 'session.revoked',
        userId,
        sessionId: session.id,
        cause: 'sign-out',
        actorId: null,
        at: clock.now(),
      },
    ])
    expect(await idsOf()).toEqual([other.id])
  })

  test('works with the previous secret too', async () => {
    const { id, cookie } = await begin()
    const { token: previousToken } = await db
      .selectFrom('session')
      .select('token')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const rotated = { previousToken, token: 'sha256:another', rotatedAt: clock.now() }
    await db.updateTable('session').set(rotated).where('id', '=', id).execute()
    expect(await end(cookie)).toBe(true)
    expect(await idsOf()).toEqual([])
    expect(events).toMatchObject([{ cause: 'sign-out' }])
  })

  test('works with any secret of its family, because the client with the current one must not keep it', async () => {
    const { id, cookie } = await begin()
    const family = createSecret()
    await db.updateTable('session').set({ tokenFamily: family }).where('id', '=', id).execute()
    const others = await createSessionSecret(createSecret(), 1)
    expect(await end({ ...cookie, secret: others })).toBe(false)
    expect(await end({ ...cookie, secret: await createSessionSecret(family, 1) })).toBe(true)
    expect(await idsOf()).toEqual([])
    expect(events).toMatchObject([{ type: 'session.revoked', sessionId: id, cause: 'token-replayed' }])
  })

  test('fails with a superseded secret, which may be an old copy', async () => {
    const { id, cookie } = await begin()
    await commit(database, (trx, record) =>
      replaceCredentials(trx, record, { userId, cookie, cause: 'reauthenticated', now: clock.now() }),
    )
    published.length = 0
    events.length = 0
    expect(await end(cookie)).toBe(false)
    expect(await idsOf()).toEqual([id])
    expect([published, events]).toEqual([[], []])
  })

  test.each(WRONG_COOKIES)('fails with a cookie %s', async (_name, change) => {
    const { id, cookie } = await begin()
    expect(await end(change(cookie))).toBe(false)
    expect(await idsOf()).toEqual([id])
    expect([published, events]).toEqual([[], []])
  })

  test('fails with the stored hash, and with the secret of another session', async () => {
    const [session, other] = [await begin(), await begin()]
    const { token } = await db
      .selectFrom('session')
      .select('token')
      .where('id', '=', session.id)
      .executeTakeFirstOrThrow()
    for (const secret of [token, other.cookie.secret]) {
      expect(await end({ sessionId: session.id, secret })).toBe(false)
    }
    expect(await idsOf()).toEqual([session.id, other.id].sort())
  })

  test('finds nothing the second time', async () => {
    const { cookie } = await begin()
    await end(cookie)
    expect(await end(cookie)).toBe(false)
    expect(published).toHaveLength(1)
  })
})

import type { Revocation, SessionKey } from '@sallyport/core'
import { banUser, createSession, revokeSession } from '@sallyport/core/auth'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { signOutSession, validateSessionCookie } from '../../src/session/lifecycle.ts'
import { reasonOf } from '../support/reason-of.ts'

const auth = await createTestAuth()
const { database, clock } = auth
const { userId } = await auth.createUser()
afterAll(() => auth.close())

const parse = (cookie: string) => ({
  sessionId: cookie.split('.')[0] ?? '',
  secret: cookie.split('.')[1] ?? '',
})
const begin = (userAgent: string | null = null) =>
  createSession(database, { userId, userAgent, lifetimeSeconds: 60, now: clock.now() })
const rowOf = (id: string) =>
  database.db.selectFrom('session').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

/** Collects what a feed publishes. */
const published: Revocation[] = []
const { publish } = database.revocations
database.revocations.publish = (revocation) => {
  published.push(revocation)
  publish(revocation)
}
beforeEach(() => {
  published.length = 0
})

describe('a new session', () => {
  test('lasts as long as it should, and is known by a cookie of id and secret', async () => {
    const session = await begin()
    expect(session).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      userId,
      expiresAt: new Date(clock.now().getTime() + 60_000),
      cookie: expect.stringMatching(new RegExp(`^${session.id}\\.[A-Za-z0-9_-]{43}$`)),
    })
    expect(await validateSessionCookie(parse(session.cookie), database, auth.config)).toMatchObject({
      id: session.id,
      userId,
      expiresAt: session.expiresAt,
    })
  })

  test('leaves its secret nowhere but in the cookie', async () => {
    const session = await begin()
    const row = await rowOf(session.id)
    expect(row.token).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(JSON.stringify(row)).not.toContain(parse(session.cookie).secret)
  })

  test('keeps no more than 512 characters of the user agent', async () => {
    expect((await rowOf((await begin('x'.repeat(10_000))).id)).userAgent).toBe('x'.repeat(512))
    expect((await rowOf((await begin()).id)).userAgent).toBeNull()
  })
})

describe('a session cookie', () => {
  test.each([
    ['none', () => null],
    ['of an unknown session', (cookie: string) => ({ ...parse(cookie), sessionId: 'unknown' })],
    ['with another secret', (cookie: string) => ({ ...parse(cookie), secret: 'A'.repeat(43) })],
    ['with an empty secret', (cookie: string) => ({ ...parse(cookie), secret: '' })],
    [
      'with a secret cut short',
      (cookie: string) => ({ ...parse(cookie), secret: parse(cookie).secret.slice(0, -1) }),
    ],
    [
      'with more after the secret',
      (cookie: string) => ({ ...parse(cookie), secret: `${parse(cookie).secret}=` }),
    ],
  ])('%s is SESSION_NOT_FOUND', async (_name, change) => {
    const { cookie } = await begin()
    expect(await reasonOf(validateSessionCookie(change(cookie), database, auth.config))).toBe(
      'SESSION_NOT_FOUND',
    )
  })

  test('that holds the stored hash instead of the secret is SESSION_NOT_FOUND', async () => {
    const session = await begin()
    const stolen = { sessionId: session.id, secret: (await rowOf(session.id)).token }
    expect(await reasonOf(validateSessionCookie(stolen, database, auth.config))).toBe('SESSION_NOT_FOUND')
  })

  test('is 503 where the secret cannot be looked up', async () => {
    const broken = { ...database.sessions, findToken: () => Promise.reject(new Error('no database')) }
    const { cookie } = await begin()
    const call = validateSessionCookie(parse(cookie), { sessions: broken }, auth.config)
    expect(await reasonOf(call)).toBe('SESSIONS_UNAVAILABLE')
  })
})

/** What Step 2 finds at the moment the revocation is announced. */
function foundWhenAnnounced(key: SessionKey): Promise<unknown> {
  return new Promise((resolve) => {
    const unsubscribe = database.revocations.subscribe(key, () => {
      unsubscribe()
      resolve(database.sessions.findSession(key))
    })
  })
}

describe('a sign-out', () => {
  test('deletes the session, and announces it once it is done', async () => {
    const session = await begin()
    const found = foundWhenAnnounced({ sessionId: session.id, userId })
    expect(await signOutSession(parse(session.cookie), database)).toBe(true)
    expect(published).toEqual([{ sessionId: session.id, userId }])
    expect(await found).toBeNull()
  })

  test('without the secret deletes nothing and announces nothing', async () => {
    const session = await begin()
    expect(await signOutSession({ sessionId: session.id, secret: 'A'.repeat(43) }, database)).toBe(false)
    expect(await signOutSession({ sessionId: session.id, secret: '' }, database)).toBe(false)
    expect(await rowOf(session.id)).toMatchObject({ id: session.id })
    expect(published).toEqual([])
  })

  test('for the second time finds nothing', async () => {
    const session = await begin()
    await signOutSession(parse(session.cookie), database)
    expect(await signOutSession(parse(session.cookie), database)).toBe(false)
    expect(published).toHaveLength(1)
  })
})

describe('a revocation', () => {
  test('deletes that session and no other, and announces it once it is done', async () => {
    const [session, other] = await Promise.all([begin(), begin()])
    const found = foundWhenAnnounced({ sessionId: session.id, userId })
    expect(await revokeSession(session.id, database)).toBe(true)
    expect(published).toEqual([{ sessionId: session.id, userId }])
    expect(await found).toBeNull()
    expect(await rowOf(other.id)).toMatchObject({ id: other.id })
  })

  test('of an unknown session finds nothing and announces nothing', async () => {
    expect(await revokeSession('unknown', database)).toBe(false)
    expect(published).toEqual([])
  })
})

describe('a ban', () => {
  test('leaves the sessions in place, counts at once, and is announced to all of them', async () => {
    const { userId, sessionId } = await auth.signIn()
    await banUser(userId, database, { now: clock.now(), reason: 'spam' })
    const session = await database.sessions.findSession({ sessionId, userId })
    expect(session?.user).toMatchObject({ banned: true, banReason: 'spam', banExpires: null })
    expect(published).toEqual([{ sessionId: null, userId }])
  })

  test('ends when it should', async () => {
    const ada = await auth.signIn()
    const expires = new Date(clock.now().getTime() + 1000)
    await banUser(ada.userId, database, { now: clock.now(), expires })
    const validate = () => reasonOf(validateSessionCookie(parse(ada.sessionCookie), database, auth.config))
    expect(await validate()).toBe('ACCOUNT_BANNED')
    clock.advance(1)
    expect(await validate()).toBe('accepted')
  })

  test('touches nobody else', async () => {
    const [ada, bob] = [await auth.signIn(), await auth.signIn()]
    await auth.ban(ada)
    expect(await reasonOf(validateSessionCookie(parse(bob.sessionCookie), database, auth.config))).toBe(
      'accepted',
    )
  })
})

import { type AuthConfigOptions, type AuthEvent, ConfigurationError, validateSession } from '@sallyport/core'
import { createSession, type SessionDatabase } from '@sallyport/core/auth'
import { EndpointError } from '@sallyport/core/internal/server'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { versionOfSecret } from '../../src/session/secret.ts'
import { reasonOf } from '../support/reason-of.ts'
import { collectRevocations } from '../support/revocations.ts'
import { parseSessionCookie } from '../support/session-cookie.ts'
import { copySession } from '../support/stored-sessions.ts'

const DAY_SECONDS = 24 * 60 * 60

const events: AuthEvent[] = []
const auth = await createTestAuth({ onEvent: (event) => void events.push(event) })
const { config, database, clock, db } = auth
const { userId } = await auth.createUser()
const published = collectRevocations(database.revocations)
beforeEach(() => {
  events.length = 0
  published.length = 0
})
afterEach(() => auth.db.deleteFrom('session').execute())
afterAll(() => auth.close())

type Options = Partial<Parameters<typeof createSession>[1]>
const begin = (options: Options = {}) => createSession(database, { userId, config, ...options })
const rowOf = (id: string, of: TestAuth = auth) =>
  of.db.selectFrom('session').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const idsOf = async (of: TestAuth = auth) =>
  (await of.db.selectFrom('session').select('id').orderBy('createdAt').execute()).map(({ id }) => id)
const after = (seconds: number) => new Date(clock.now().getTime() + seconds * 1000)

/** Returns everything stored, to check that nothing has changed. */
const stored = async ({ db }: TestAuth = auth) => ({
  users: await db.selectFrom('user').selectAll().execute(),
  sessions: await db.selectFrom('session').selectAll().execute(),
  audit: await db.selectFrom('sallyport.audit').selectAll().execute(),
})

/** Starts an auth server with these session settings, and creates a user. */
async function withSettings(session: AuthConfigOptions['session'] = {}) {
  const own = await createTestAuth({ session })
  onTestFinished(() => own.close())
  const { userId } = await own.createUser()
  return {
    ...own,
    userId,
    begin: (options: Options = {}) => createSession(own.database, { userId, config: own.config, ...options }),
  }
}

describe('a new session', () => {
  test('lasts as configured, and has a cookie with its id and secret', async () => {
    const session = await begin()
    expect(session).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      userId,
      version: 1,
      expiresAt: after(30 * DAY_SECONDS),
      remembered: true,
      cookie: expect.stringMatching(new RegExp(`^${session.id}\\.[A-Za-z0-9_-]{91}$`)),
    })
    expect(await database.sessions.findSession({ sessionId: session.id, userId })).toMatchObject({
      id: session.id,
      userId,
      expiresAt: session.expiresAt,
      lastAuthenticatedAt: clock.now().toISOString(),
    })
  })

  test('stores everything in its row', async () => {
    const now = clock.now().toISOString()
    const { id, expiresAt } = await begin({ address: '192.0.2.1', userAgent: 'Mosaic/0.9' })
    expect(await rowOf(id)).toEqual({
      id,
      token: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      userId,
      ipAddress: '192.0.2.1',
      userAgent: 'Mosaic/0.9',
      expiresAt: expiresAt.toISOString(),
      remembered: 1,
      previousToken: null,
      rotatedAt: null,
      tokenFamily: expect.stringMatching(/^[\w-]{43}$/),
      version: 1,
      provedVersion: 1,
      issuer: null,
      amr: null,
      acr: null,
      lastAuthenticatedAt: now,
      lastSeenAt: now,
      createdAt: now,
      updatedAt: now,
    })
  })

  test('has the given id', async () => {
    const id = crypto.randomUUID()
    const { cookie } = await begin({ id })
    expect(parseSessionCookie(cookie).sessionId).toBe(id)
    await expect(begin({ id })).rejects.toThrow(/UNIQUE/)
  })

  test('stores its secret only in the cookie', async () => {
    const { cookie } = await begin()
    expect(JSON.stringify([await stored(), events])).not.toContain(parseSessionCookie(cookie).secret)
  })

  test('has a new id and secret every time', async () => {
    const sessions = await Promise.all(Array.from({ length: 20 }, () => begin()))
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(20)
    expect(new Set(sessions.map(({ cookie }) => parseSessionCookie(cookie).secret)).size).toBe(20)
  })

  test('keeps at most 512 characters of the user agent', async () => {
    expect((await rowOf((await begin({ userAgent: 'x'.repeat(10_000) })).id)).userAgent).toBe('x'.repeat(512))
  })

  test('has neither address nor user agent if none was given', async () => {
    expect(await rowOf((await begin()).id)).toMatchObject({ ipAddress: null, userAgent: null })
  })

  test('ends no other session unless one is given', async () => {
    const [first, second] = [await begin(), await begin()]
    expect((await idsOf()).sort()).toEqual([first.id, second.id].sort())
    expect(published).toEqual([])
  })

  test('is reported and recorded after it was created', async () => {
    const { id } = await begin({ address: '192.0.2.1', userAgent: 'Mosaic/0.9' })
    const created = { address: '192.0.2.1', userAgent: 'Mosaic/0.9', userId, sessionId: id, at: clock.now() }
    expect(events).toEqual([{ type: 'session.created', ...created, knownDevice: null }])
    const audit = db.selectFrom('sallyport.audit').selectAll().where('sessionId', '=', id)
    expect(await audit.execute()).toEqual([
      {
        id: expect.any(String),
        type: 'session.created',
        userId,
        sessionId: id,
        actorId: null,
        address: '192.0.2.1',
        userAgent: 'Mosaic/0.9',
        actingSessionId: null,
        detail: '{"knownDevice":null}',
        createdAt: clock.now().toISOString(),
      },
    ])
  })
})

describe('a new session expires', () => {
  test.each<[string, AuthConfigOptions['session'], boolean, number]>([
    ['after 30 days', {}, true, 30 * DAY_SECONDS],
    ["after a day if it isn't remembered", {}, false, DAY_SECONDS],
    ['as configured', { expiresInSeconds: 3_600 }, true, 3_600],
    ["as configured if it isn't remembered", { unrememberedExpiresInSeconds: 60 }, false, 60],
    ['no later for not being remembered', { expiresInSeconds: 3_600 }, false, 3_600],
    ['at the end of its absolute lifetime', { absoluteLifetimeSeconds: 7_200 }, true, 7_200],
    ['after the idle timeout', { idleTimeoutSeconds: 1_800 }, true, 1_800],
    ['after the idle timeout, remembered or not', { idleTimeoutSeconds: 1_800 }, false, 1_800],
    [
      'at the earliest of the limits',
      { idleTimeoutSeconds: 1_800, absoluteLifetimeSeconds: 1_000, expiresInSeconds: 2_000 },
      true,
      1_000,
    ],
  ])('%s', async (_name, settings, rememberMe, seconds) => {
    const own = await withSettings(settings)
    const expiresAt = new Date(own.clock.now().getTime() + seconds * 1000)
    const session = await own.begin({ rememberMe })
    expect(session).toMatchObject({ expiresAt, remembered: rememberMe })
    expect(await rowOf(session.id, own)).toMatchObject({
      expiresAt: expiresAt.toISOString(),
      remembered: rememberMe ? 1 : 0,
    })
  })
})

describe('a new session', () => {
  test.each([true, false])('has its own family, rotated or not: %s', async (rotateSessionToken) => {
    const own = await withSettings({ rotateSessionToken })
    const [one, other] = [await own.begin(), await own.begin()]
    const [{ tokenFamily: family }, { tokenFamily: anothers }] = [
      await rowOf(one.id, own),
      await rowOf(other.id, own),
    ]
    expect(family).not.toBe(anothers)
    const { secret } = parseSessionCookie(one.cookie)
    expect(secret).toMatch(/^[A-Za-z0-9_-]{91}$/)
    expect(await versionOfSecret(secret, family ?? '')).toBe(1)
    expect(await versionOfSecret(secret, anothers ?? '')).toBeNull()
  })

  test('has version 1, and its user has proved it', async () => {
    const session = await begin()
    expect(session.version).toBe(1)
    expect(await rowOf(session.id)).toMatchObject({ version: 1, provedVersion: 1, rotatedAt: null })
  })

  test('belongs to this issuer, unless another one is given', async () => {
    expect(await rowOf((await begin()).id)).toMatchObject({ issuer: null })
    const issuer = 'https://id.example.com'
    const [own] = config.issuers
    const trusting = { ...config, issuers: [own, { ...own, issuer }] as const }
    await expect(begin({ issuer })).rejects.toThrow(ConfigurationError)
    const foreign = await begin({ issuer, config: trusting })
    expect(await rowOf(foreign.id)).toMatchObject({ issuer })
    const key = { sessionId: foreign.id, userId }
    expect(await database.sessions.findSession(key)).toMatchObject({ issuer })
    const ours = { ...key, version: 1, issuer: config.issuer }
    expect(await reasonOf(validateSession(ours, database.sessions, config))).toBe('TOKEN_INVALID')
    const theirs = { ...key, version: null, issuer }
    expect(await reasonOf(validateSession(theirs, database.sessions, config))).toBe('accepted')
  })
})

describe('creates no session', () => {
  const banned = async (banExpires: Date | null) => {
    const { userId } = await auth.createUser()
    await db.updateTable('user').set({ banned: true, banExpires }).where('id', '=', userId).execute()
    return userId
  }

  test('for a missing user: USER_NOT_FOUND', async () => {
    const before = await stored()
    const call = begin({ userId: 'missing' })
    await expect(call).rejects.toBeInstanceOf(EndpointError)
    await expect(call).rejects.toMatchObject({ code: 'USER_NOT_FOUND', status: 404 })
    expect(await stored()).toEqual(before)
    expect(events).toEqual([])
  })

  test.each([
    ['permanently', () => null],
    ['for another millisecond', () => after(0.001)],
  ])('for a user who is banned %s, and the previous session stays', async (_name, banExpires) => {
    const replaced = await begin()
    const userId = await banned(banExpires())
    const before = await stored()
    events.length = 0
    const replaces = parseSessionCookie(replaced.cookie)
    expect(await reasonOf(begin({ userId, replaces }))).toBe('ACCOUNT_BANNED')
    expect(await stored()).toEqual(before)
    expect([events, published]).toEqual([[], []])
  })

  test('except for a user whose ban has ended', async () => {
    expect(await reasonOf(begin({ userId: await banned(clock.now()) }))).toBe('accepted')
  })

  test('if the app rejects it in the transaction, and the previous session stays', async () => {
    const replaced = await begin()
    const before = await stored()
    events.length = 0
    const call = begin({
      replaces: parseSessionCookie(replaced.cookie),
      async authorize(trx) {
        await trx.updateTable('user').set({ name: 'Undone' }).where('id', '=', userId).execute()
        throw new Error('not today')
      },
    })
    await expect(call).rejects.toThrow('not today')
    expect(await stored()).toEqual(before)
    expect([events, published]).toEqual([[], []])
  })

  test('if a hook of the transaction rejects, and rolls everything back', async () => {
    const replaced = await begin()
    const before = await stored()
    events.length = 0
    const hooked: SessionDatabase = {
      ...database,
      hooks: [() => Promise.reject(new Error('not today'))],
    }
    const call = createSession(hooked, { userId, config, replaces: parseSessionCookie(replaced.cookie) })
    await expect(call).rejects.toThrow('not today')
    expect(await stored()).toEqual(before)
    expect([events, published]).toEqual([[], []])
  })
})

describe('the previous session of the same browser', () => {
  test('is replaced by the new one, which has another id and secret', async () => {
    const before = await begin()
    events.length = 0
    const session = await begin({ replaces: parseSessionCookie(before.cookie) })
    expect(await idsOf()).toEqual([session.id])
    expect(parseSessionCookie(session.cookie).secret).not.toBe(parseSessionCookie(before.cookie).secret)
    expect(published).toEqual([{ sessionId: before.id, userId }])
    expect(events).toMatchObject([
      { type: 'session.revoked', cause: 'replaced', sessionId: before.id, userId, actorId: null },
      { type: 'session.created', sessionId: session.id, userId },
    ])
  })

  test('ends even if it belongs to another user', async () => {
    const eve = await auth.signIn()
    const session = await begin({ replaces: parseSessionCookie(eve.sessionCookie) })
    expect(await idsOf()).toEqual([session.id])
    expect(published).toEqual([{ sessionId: eve.sessionId, userId: eve.userId }])
  })

  test('ends with its previous secret too', async () => {
    const before = await begin()
    const previousToken = (await rowOf(before.id)).token
    const rotated = { previousToken, token: 'sha256:another', rotatedAt: clock.now() }
    await db.updateTable('session').set(rotated).where('id', '=', before.id).execute()
    const session = await begin({ replaces: parseSessionCookie(before.cookie) })
    expect(await idsOf()).toEqual([session.id])
  })
})

describe('with maxSessionsPerUser', () => {
  test('deletes the oldest sessions for a new one', async () => {
    const own = await withSettings({ maxSessionsPerUser: 2 })
    const revoked = collectRevocations(own.database.revocations)
    const ids: string[] = []
    for (let i = 0; i < 4; i++) {
      own.clock.advance(1)
      ids.push((await own.begin()).id)
    }
    expect(await idsOf(own)).toEqual(ids.slice(2))
    expect(revoked).toEqual(ids.slice(0, 2).map((sessionId) => ({ sessionId, userId: own.userId })))
    const causes = own.db.selectFrom('sallyport.audit').select('detail').where('type', '=', 'session.revoked')
    expect(await causes.execute()).toEqual(Array(2).fill({ detail: '{"cause":"evicted"}' }))
  })

  test('ends at most 1,000 at once, so a lower setting fails no sign-in', async () => {
    const own = await withSettings({ maxSessionsPerUser: 2 })
    const { id } = await own.begin()
    await copySession(own, id, 1_100)
    const revoked = collectRevocations(own.database.revocations)
    await own.begin()
    expect(revoked).toHaveLength(1_000)
    expect((await idsOf(own)).slice(0, 2)).toEqual(['copy-1001', 'copy-1002'])
    await own.begin()
    expect(await idsOf(own)).toHaveLength(2)
  })

  test("ignores an expired session, and doesn't evict it", async () => {
    const own = await withSettings({ maxSessionsPerUser: 1, whenFull: 'reject' })
    const { id, expiresAt } = await own.begin()
    own.clock.advance((expiresAt.getTime() - own.clock.now().getTime()) / 1000 - 0.001)
    await expect(own.begin()).rejects.toMatchObject({ code: 'TOO_MANY_SESSIONS' })
    own.clock.advance(0.001)
    const next = await own.begin()
    expect(await idsOf(own)).toEqual([id, next.id])
  })

  test('includes a session whose expiry was changed by hand to a date with a space', async () => {
    const own = await withSettings({ maxSessionsPerUser: 1 })
    const { id } = await own.begin()
    const moment = new Date(own.clock.now().getTime() + 60_000).toISOString().slice(0, 19).replace('T', ' ')
    await own.db
      .updateTable('session')
      .set({ expiresAt: sql`${moment}` })
      .where('id', '=', id)
      .execute()
    const next = await own.begin()
    expect(await idsOf(own)).toEqual([next.id])
  })

  test('concurrent sign-ins leave no more sessions than allowed', async () => {
    const own = await withSettings({ maxSessionsPerUser: 3 })
    await Promise.all(Array.from({ length: 10 }, () => own.begin()))
    expect(await idsOf(own)).toHaveLength(3)
  })

  describe('and whenFull reject', () => {
    const full = async () => {
      const own = await withSettings({ maxSessionsPerUser: 2, whenFull: 'reject' })
      return { ...own, sessions: [await own.begin(), await own.begin()] as const }
    }

    test('rejects an additional sign-in with 409 TOO_MANY_SESSIONS, and changes nothing', async () => {
      const own = await full()
      const before = await stored(own)
      await expect(own.begin()).rejects.toMatchObject({ code: 'TOO_MANY_SESSIONS', status: 409 })
      expect(await stored(own)).toEqual(before)
    })

    test("another user's browser keeps its session if the sign-in is rejected", async () => {
      const own = await full()
      const eve = await own.signIn()
      const call = own.begin({ replaces: parseSessionCookie(eve.sessionCookie) })
      await expect(call).rejects.toMatchObject({ code: 'TOO_MANY_SESSIONS' })
      expect(await idsOf(own)).toContain(eve.sessionId)
    })

    test('concurrent sign-ins create no more sessions than allowed', async () => {
      const own = await withSettings({ maxSessionsPerUser: 3, whenFull: 'reject' })
      const answers = await Promise.allSettled(Array.from({ length: 10 }, () => own.begin()))
      expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
      expect(await idsOf(own)).toHaveLength(3)
    })
  })
})

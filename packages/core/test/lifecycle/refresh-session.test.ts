import { join } from 'node:path'
import { type AuthConfigOptions, AuthError, type AuthEvent } from '@sallyport/core'
import { commit, type SessionDatabase } from '@sallyport/core/auth'
import { createTestAuth, type TestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { type RefreshedSession, refreshSession } from '../../src/lifecycle/refresh-session.ts'
import { replaceCredentials } from '../../src/lifecycle/replace-credentials.ts'
import { GRACE_SECONDS } from '../../src/protocol.ts'
import { createSecret, createSessionSecret } from '../../src/session/secret.ts'
import { reasonOf } from '../support/reason-of.ts'
import { collectRevocations, foundWhenAnnounced } from '../support/revocations.ts'
import { parseSessionCookie, WRONG_COOKIES } from '../support/session-cookie.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const DAY_SECONDS = 24 * 60 * 60
const HOUR_SECONDS = 60 * 60
const directory = temporaryDirectory()
const ROTATING = { rotateSessionToken: true } as const

/** Opens a file, where reading and writing use two connections. */
async function open(session: NonNullable<AuthConfigOptions['session']>) {
  const events: AuthEvent[] = []
  const databaseUrl = join(directory, `${crypto.randomUUID()}.db`)
  const auth = await createTestAuth({ databaseUrl, session, onEvent: (event) => void events.push(event) })
  return { auth, events, published: collectRevocations(auth.database.revocations) }
}

/** One for all tests with the same settings. */
const opened = new Map<string, ReturnType<typeof open>>()
afterAll(async () => {
  for (const { auth } of await Promise.all(opened.values())) await auth.close()
})

/** Starts with a signed-in user, the only one. Returns helpers for their session. */
async function start(session: Parameters<typeof open>[0] = {}, { rememberMe = true } = {}) {
  const settings = JSON.stringify(session)
  const opening = opened.get(settings) ?? open(session)
  opened.set(settings, opening)
  const { auth, events, published } = await opening
  const { config, database, db, clock } = auth
  await db.deleteFrom('user').execute()
  const ada = await auth.signIn()
  if (!rememberMe) {
    const expiresAt = new Date(clock.now().getTime() + DAY_SECONDS * 1000)
    await db.updateTable('session').set({ remembered: false, expiresAt }).execute()
  }
  events.length = 0
  published.length = 0
  const begin = (cookie = ada.sessionCookie, of: SessionDatabase = database) =>
    refreshSession(parseSessionCookie(cookie), { database: of, config })
  return {
    ...auth,
    events,
    ada,
    published,
    begin,
    /** Refreshes like the token endpoint, in both steps. */
    refresh: async (cookie?: string) => (await begin(cookie)).advance(),
    reason: (cookie?: string) => reasonOf(begin(cookie).then(({ advance }) => advance())),
    row: (id = ada.sessionId) => db.selectFrom('session').selectAll().where('id', '=', id).executeTakeFirst(),
    /** Returns a time, in seconds from now. */
    after: (seconds: number) => new Date(clock.now().getTime() + seconds * 1000),
  }
}

const auditOf = ({ db }: TestAuth, { sessionId }: TestSession) =>
  db
    .selectFrom('sallyport.audit')
    .select(['type', 'actorId', 'detail'])
    .where('sessionId', '=', sessionId)
    .where('type', '!=', 'session.created')
    .execute()

/** Returns the new session cookie of a refresh. */
function newCookie({ cookie }: RefreshedSession): string {
  if (cookie === null) throw new Error('The browser was to keep what it had')
  return cookie
}

describe('a session cookie', () => {
  test('with the right secret returns its session', async () => {
    const { begin, ada, after } = await start()
    const { session } = await begin()
    expect(session).toMatchObject({
      id: ada.sessionId,
      userId: ada.userId,
      expiresAt: after(30 * DAY_SECONDS),
      user: { id: ada.userId, role: 'user' },
    })
  })

  test.each(WRONG_COOKIES)('%s is SESSION_NOT_FOUND, and ends nothing', async (_name, change) => {
    const { config, database, ada, row } = await start()
    const before = await row()
    const call = refreshSession(change(parseSessionCookie(ada.sessionCookie)), { database, config })
    expect(await reasonOf(call)).toBe('SESSION_NOT_FOUND')
    expect(await row()).toEqual(before)
  })

  test('that holds the stored hash instead of the secret is SESSION_NOT_FOUND', async () => {
    const { row, reason, ada } = await start()
    expect(await reason(`${ada.sessionId}.${(await row())?.token}`)).toBe('SESSION_NOT_FOUND')
  })

  test.each([
    ['revoked', 'SESSION_NOT_FOUND', ({ revoke, ada }) => revoke(ada)],
    ['expired', 'SESSION_EXPIRED', ({ expireSession, ada }) => expireSession(ada)],
    ['of a banned user', 'ACCOUNT_BANNED', ({ ban, ada }) => ban(ada)],
  ] satisfies [string, string, (own: Awaited<ReturnType<typeof start>>) => Promise<void>][])(
    'of a session that is %s is %s',
    async (_name, reason, change) => {
      const own = await start()
      await change(own)
      expect(await own.reason()).toBe(reason)
    },
  )

  const broken: [string, Partial<SessionDatabase['sessions']>][] = [
    ["the secret can't be looked up", { findToken: () => Promise.reject(new Error('no database')) }],
    [
      "the secret's lookup throws",
      {
        findToken() {
          throw new Error('no database')
        },
      },
    ],
    ["the secret's lookup never returns", { findToken: () => new Promise(() => {}) }],
    ["the session can't be looked up", { findSession: () => Promise.reject(new Error('no database')) }],
  ]
  test.each(broken)('is 503 if %s', async (_name, failing) => {
    const { database, begin, ada } = await start({ lookupTimeoutMs: 1 })
    const sessions = { ...database.sessions, ...failing }
    const call = begin(ada.sessionCookie, { ...database, sessions })
    await expect(call).rejects.toMatchObject({ reason: 'SESSIONS_UNAVAILABLE', cause: expect.any(Error) })
  })

  test('that the store itself rejects is rejected with its reason', async () => {
    const { database, begin, ada } = await start()
    const rejection = new AuthError('SESSIONS_UNAVAILABLE', { retryAfterSeconds: 9 })
    const sessions = { ...database.sessions, findToken: () => Promise.reject(rejection) }
    await expect(begin(ada.sessionCookie, { ...database, sessions })).rejects.toBe(rejection)
  })
})

describe('a refresh', () => {
  test('changes nothing before its write', async () => {
    const { begin, row, clock } = await start(ROTATING)
    const before = await row()
    clock.advance(2 * DAY_SECONDS)
    await begin()
    expect(await row()).toEqual(before)
  })

  test.each([0, 1, 59.999])('%d s after the last one reads without writing', async (seconds) => {
    const { refresh, row, clock, ada, events, after } = await start()
    const [before, expiresAt] = [await row(), after(30 * DAY_SECONDS)]
    clock.advance(seconds)
    expect(await refresh()).toEqual({
      id: ada.sessionId,
      userId: ada.userId,
      expiresAt,
      version: 1,
      remembered: true,
      renewed: false,
      cookie: null,
    })
    expect(await row()).toEqual(before)
    expect(events).toEqual([])
  })

  test.each([60, DAY_SECONDS - 0.001])('%d s after the last one only updates lastSeenAt', async (seconds) => {
    const own = await start()
    const [before, expiresAt] = [await own.row(), own.after(30 * DAY_SECONDS)]
    own.clock.advance(seconds)
    expect(await own.refresh()).toMatchObject({ expiresAt, renewed: false, cookie: null })
    const now = own.clock.now().toISOString()
    expect(await own.row()).toEqual({ ...before, lastSeenAt: now, updatedAt: now })
    expect(own.events).toEqual([])
    expect(await auditOf(own, own.ada)).toEqual([])
  })

  test('after renewAfter extends the session, and the browser gets the same secret for longer', async () => {
    const own = await start()
    const { ada, clock, row } = own
    const before = await row()
    clock.advance(DAY_SECONDS)
    const expiresAt = own.after(30 * DAY_SECONDS)
    expect(await own.refresh()).toEqual({
      id: ada.sessionId,
      userId: ada.userId,
      expiresAt,
      version: 1,
      remembered: true,
      renewed: true,
      cookie: ada.sessionCookie,
    })
    const now = clock.now().toISOString()
    expect(await row()).toEqual({
      ...before,
      expiresAt: expiresAt.toISOString(),
      lastSeenAt: now,
      updatedAt: now,
    })
    const event = { userId: ada.userId, sessionId: ada.sessionId, at: clock.now() }
    expect(own.events).toEqual([{ type: 'session.refreshed', renewed: true, ...event }])
    expect(await auditOf(own, ada)).toEqual([
      { type: 'session.refreshed', actorId: null, detail: '{"renewed":true}' },
    ])
    expect(own.published).toEqual([])
  })

  test("extends a session repeatedly, so one in use doesn't end", async () => {
    const { refresh, reason, clock } = await start({ absoluteLifetimeSeconds: Number.POSITIVE_INFINITY })
    for (let i = 0; i < 10; i++) {
      clock.advance(29 * DAY_SECONDS)
      expect(await refresh()).toMatchObject({ renewed: true })
    }
    clock.advance(30 * DAY_SECONDS)
    expect(await reason()).toBe('SESSION_EXPIRED')
  })

  test('renews as often as configured', async () => {
    const { refresh, clock } = await start({ renewAfterSeconds: HOUR_SECONDS })
    clock.advance(HOUR_SECONDS - 0.001)
    expect(await refresh()).toMatchObject({ renewed: false })
    clock.advance(0.001)
    expect(await refresh()).toMatchObject({ renewed: true })
    expect(await refresh()).toMatchObject({ renewed: false })
  })

  test("extends a session that isn't remembered by a day, after half of one", async () => {
    const { refresh, clock, after, ada } = await start({}, { rememberMe: false })
    clock.advance(DAY_SECONDS / 2 - 0.001)
    expect(await refresh()).toMatchObject({ renewed: false, remembered: false })
    clock.advance(0.001)
    expect(await refresh()).toMatchObject({
      renewed: true,
      remembered: false,
      expiresAt: after(DAY_SECONDS),
      cookie: ada.sessionCookie,
    })
  })

  test('extends no session beyond its absolute lifetime', async () => {
    const { refresh, reason, clock, after } = await start({ absoluteLifetimeSeconds: 40 * DAY_SECONDS })
    const end = after(40 * DAY_SECONDS)
    clock.advance(20 * DAY_SECONDS)
    expect(await refresh()).toMatchObject({ renewed: true, expiresAt: end })
    clock.advance(19 * DAY_SECONDS)
    expect(await refresh()).toMatchObject({ renewed: false, expiresAt: end, cookie: null })
    clock.advance(DAY_SECONDS)
    expect(await reason()).toBe('SESSION_EXPIRED')
  })

  test('each time extends a session with an idle timeout, which otherwise ends', async () => {
    const { refresh, reason, clock, after } = await start({ idleTimeoutSeconds: HOUR_SECONDS })
    for (let i = 0; i < 5; i++) {
      clock.advance(HOUR_SECONDS - 0.001)
      expect(await refresh()).toMatchObject({ renewed: true, expiresAt: after(HOUR_SECONDS) })
    }
    clock.advance(HOUR_SECONDS)
    expect(await reason()).toBe('SESSION_EXPIRED')
  })

  test('uses the current settings: an earlier session also has an idle timeout', async () => {
    const { refresh, config, database, ada, after, clock } = await start()
    await refresh()
    const idle = { ...config, lifetimes: { ...config.lifetimes, idleTimeoutSeconds: HOUR_SECONDS } }
    clock.advance(29.99 * DAY_SECONDS)
    const { advance } = await refreshSession(parseSessionCookie(ada.sessionCookie), {
      database,
      config: idle,
    })
    expect(await advance()).toMatchObject({ expiresAt: after(HOUR_SECONDS) })
  })

  test("that can't be recorded changes nothing", async () => {
    const { database, begin, row, clock, ada } = await start(ROTATING)
    const hooks = [() => Promise.reject(new Error('not today'))]
    clock.advance(2 * DAY_SECONDS)
    const before = await row()
    const { advance } = await begin(ada.sessionCookie, { ...database, hooks })
    await expect(advance()).rejects.toThrow('not today')
    expect(await row()).toEqual(before)
  })
})

test("that updates lastSeenAt doesn't undo a concurrent extension", async () => {
  const { begin, row, clock, db, after } = await start()
  clock.advance(60)
  const { advance } = await begin()
  const expiresAt = after(31 * DAY_SECONDS)
  await db.updateTable('session').set({ expiresAt }).execute()
  await advance()
  expect(await row()).toMatchObject({
    expiresAt: expiresAt.toISOString(),
    lastSeenAt: clock.now().toISOString(),
  })
})

describe('a concurrent change wins over a pending write', () => {
  const due = [
    ['due for lastSeenAt', {}, 60],
    ['due for an extension', {}, DAY_SECONDS],
    ['due for another secret', ROTATING, 0],
    ['due for an extension and another secret', ROTATING, DAY_SECONDS],
  ] as const

  test.each(due)('a session %s that has been revoked stays revoked', async (_name, settings, seconds) => {
    const { begin, row, clock, revoke, ada } = await start(settings)
    clock.advance(seconds)
    const { advance } = await begin()
    await revoke(ada)
    expect(await reasonOf(advance())).toBe('SESSION_NOT_FOUND')
    expect(await row()).toBeUndefined()
  })

  test.each(due)('a session %s that has expired stays expired', async (_name, settings, seconds) => {
    const { begin, row, clock, expireSession, ada, events } = await start(settings)
    clock.advance(seconds)
    const { advance } = await begin()
    await expireSession(ada)
    const before = await row()
    expect(await reasonOf(advance())).toBe('SESSION_EXPIRED')
    expect(await row()).toEqual(before)
    expect(events).toEqual([])
  })

  test.each(due)(
    'a session %s that expires after it was checked stays expired',
    async (_name, settings, seconds) => {
      const { begin, row, clock, expireSession, ada, database } = await start(settings)
      clock.advance(seconds)
      let lookups = 0
      const findSession: SessionDatabase['sessions']['findSession'] = async (key) => {
        const found = await database.sessions.findSession(key)
        if (++lookups === 2) await expireSession(ada)
        return found
      }
      const sessions = { ...database.sessions, findSession }
      const { advance } = await begin(undefined, { ...database, sessions })
      expect(await reasonOf(advance())).toBe('SESSION_EXPIRED')
      expect(await row()).toMatchObject({ version: 1, expiresAt: clock.now().toISOString() })
    },
  )

  test.each(due)('a session %s whose user was deleted stays deleted', async (_name, settings, seconds) => {
    const { begin, row, clock, db, ada } = await start(settings)
    clock.advance(seconds)
    const { advance } = await begin()
    await db.deleteFrom('user').where('id', '=', ada.userId).execute()
    expect(await reasonOf(advance())).toBe('SESSION_NOT_FOUND')
    expect(await row()).toBeUndefined()
  })

  test.each(due)(
    'a session %s whose secret was just rotated continues with the version of the previous secret',
    async (_name, settings, seconds) => {
      const { begin, row, clock, db, events } = await start(settings)
      clock.advance(seconds)
      const { advance } = await begin()
      const previousToken = (await row())?.token ?? ''
      const rotated = { token: 'sha256:another', previousToken, rotatedAt: clock.now(), version: 2 }
      await db.updateTable('session').set(rotated).execute()
      const before = await row()
      expect(await advance()).toMatchObject({ renewed: false, cookie: null, version: 1 })
      expect(await row()).toEqual(before)
      expect(events).toEqual([])
    },
  )
})

describe('a superseded secret', () => {
  type Own = Awaited<ReturnType<typeof start>>

  /** Replaces the credentials, like a user who proves who they are. */
  async function prove({ database, ada, clock, events, published }: Own, cookie = ada.sessionCookie) {
    const renewed = await commit(database, (trx, record) =>
      replaceCredentials(trx, record, {
        userId: ada.userId,
        cookie: parseSessionCookie(cookie),
        cause: 'reauthenticated',
        now: clock.now(),
      }),
    )
    events.length = 0
    published.length = 0
    return renewed?.cookie ?? ''
  }

  test.each([
    ['rotated or not', {}],
    ['with rotation', ROTATING],
  ])('is SECRET_SUPERSEDED and ends nothing, %s', async (_name, settings) => {
    const own = await start(settings)
    const current = await prove(own)
    const before = await own.row()
    for (const seconds of [0, GRACE_SECONDS + 1, DAY_SECONDS]) {
      own.clock.advance(seconds)
      expect(await reasonOf(own.begin())).toBe('SECRET_SUPERSEDED')
    }
    expect(await own.row()).toEqual(before)
    expect([own.events, own.published]).toEqual([[], []])
    expect(await own.reason(current)).toBe('accepted')
  })

  test('is also a secret that was rotated out before the proof', async () => {
    const own = await start(ROTATING)
    const second = newCookie(await own.refresh())
    const current = await prove(own, second)
    own.clock.advance(GRACE_SECONDS + 1)
    expect(await own.reason()).toBe('SECRET_SUPERSEDED')
    expect(await own.reason(second)).toBe('SECRET_SUPERSEDED')
    expect(await own.reason(current)).toBe('accepted')
  })

  test("isn't a secret that was rotated out after the proof: that one ends the session", async () => {
    const own = await start(ROTATING)
    const proved = await prove(own)
    own.clock.advance(GRACE_SECONDS + 1)
    const current = newCookie(await own.refresh(proved))
    own.clock.advance(GRACE_SECONDS + 1)
    expect(await own.reason(own.ada.sessionCookie)).toBe('SECRET_SUPERSEDED')
    expect(await own.reason(proved)).toBe('SESSION_NOT_FOUND')
    expect(await own.row()).toBeUndefined()
    expect(await own.reason(current)).toBe('SESSION_NOT_FOUND')
  })

  test('makes the refresh fail if it is superseded while definePayload runs, and changes nothing', async () => {
    const own = await start(ROTATING)
    own.clock.advance(DAY_SECONDS)
    const { advance } = await own.begin()
    await prove(own)
    const before = await own.row()
    expect(await reasonOf(advance())).toBe('SECRET_SUPERSEDED')
    expect(await own.row()).toEqual(before)
  })

  test.each([
    ['ended', 'SESSION_NOT_FOUND', ({ revoke, ada }) => revoke(ada)],
    ['expired', 'SESSION_EXPIRED', ({ expireSession, ada }) => expireSession(ada)],
    ['of a banned user', 'ACCOUNT_BANNED', ({ ban, ada }) => ban(ada)],
  ] satisfies [string, string, (own: Own) => Promise<void>][])(
    'of a session that is %s is reported as %s',
    async (_name, reason, change) => {
      const own = await start()
      await prove(own)
      await change(own)
      expect(await own.reason()).toBe(reason)
    },
  )

  test('with the version changed is SESSION_NOT_FOUND, and ends nothing', async () => {
    const own = await start(ROTATING)
    const current = await prove(own)
    const { sessionId, secret } = parseSessionCookie(own.ada.sessionCookie)
    const bytes = Buffer.from(secret, 'base64url')
    bytes.writeUInt32BE(2, 32)
    expect(await own.reason(`${sessionId}.${bytes.toString('base64url')}`)).toBe('SESSION_NOT_FOUND')
    expect(await own.reason(current)).toBe('accepted')
  })
})

test('a session of another issuer is SESSION_NOT_FOUND, and stays', async () => {
  const { db, reason, row } = await start()
  await db.updateTable('session').set({ issuer: 'https://id.example.com' }).execute()
  const before = await row()
  expect(await reason()).toBe('SESSION_NOT_FOUND')
  expect(await row()).toEqual(before)
})

describe('with rotation', () => {
  test('the version increases, and the previous secret gets a JWT of the previous version', async () => {
    const { refresh, row, ada, clock } = await start(ROTATING)
    const first = await refresh()
    expect(first).toMatchObject({ version: 2 })
    expect(await row()).toMatchObject({ version: 2, provedVersion: 1 })
    expect(await refresh(ada.sessionCookie)).toMatchObject({ version: 1, cookie: null })
    expect(await refresh(newCookie(first))).toMatchObject({ version: 2, cookie: null })
    clock.advance(GRACE_SECONDS + 1)
    expect(await refresh(newCookie(first))).toMatchObject({ version: 3 })
    expect(await refresh(newCookie(first))).toMatchObject({ version: 2, cookie: null })
    expect(await row()).toMatchObject({ version: 3, provedVersion: 1 })
  })

  test('the session stays as fresh as it was', async () => {
    const { refresh, row, clock } = await start(ROTATING)
    const before = await row()
    clock.advance(DAY_SECONDS)
    await refresh()
    expect((await row())?.lastAuthenticatedAt).toBe(before?.lastAuthenticatedAt)
  })

  test('a rotation is announced, because streams of the previous version end with its grace period', async () => {
    const { refresh, ada, published } = await start(ROTATING)
    await refresh()
    expect(published).toEqual([{ sessionId: ada.sessionId, userId: ada.userId }])
  })

  test('each refresh gives the browser a new secret, and stores the previous one', async () => {
    const { refresh, row, ada, clock } = await start(ROTATING)
    const before = await row()
    clock.advance(5)
    const cookie = newCookie(await refresh())
    expect(cookie).toMatch(new RegExp(`^${ada.sessionId}\\.[\\w-]{91}$`))
    expect(cookie).not.toBe(ada.sessionCookie)
    const now = clock.now().toISOString()
    expect(await row()).toEqual({
      ...before,
      token: expect.stringMatching(/^sha256:/),
      previousToken: before?.token,
      rotatedAt: now,
      version: 2,
      lastSeenAt: now,
      updatedAt: now,
    })
    expect((await row())?.token).not.toBe(before?.token)
  })

  test("doesn't rotate again within the grace period, so no running request fails", async () => {
    const { refresh, row, ada, clock, reason } = await start(ROTATING)
    const second = newCookie(await refresh())
    const before = await row()
    clock.advance(GRACE_SECONDS)
    expect(await refresh(second)).toMatchObject({ cookie: null, renewed: false })
    expect(await row()).toEqual(before)
    expect(await reason(ada.sessionCookie)).toBe('accepted')
    clock.advance(0.001)
    expect(newCookie(await refresh(second))).not.toBe(second)
    expect(await reason(second)).toBe('accepted')
  })

  test('a session in use continues while it is refreshed', async () => {
    const { refresh, clock, ada, after } = await start(ROTATING)
    let cookie = ada.sessionCookie
    for (let i = 0; i < 60; i++) {
      clock.advance(DAY_SECONDS)
      const refreshed = await refresh(cookie)
      expect(refreshed).toMatchObject({ renewed: true, expiresAt: after(30 * DAY_SECONDS) })
      cookie = newCookie(refreshed)
    }
  })

  test('the secret is stored only in the cookie', async () => {
    const { refresh, db, events } = await start(ROTATING)
    const { secret } = parseSessionCookie(newCookie(await refresh()))
    const stored = await Promise.all(
      (['session', 'sallyport.audit'] as const).map((table) => db.selectFrom(table).selectAll().execute()),
    )
    expect(JSON.stringify([stored, events])).not.toContain(secret)
  })

  test('an earlier session gets a family with its first rotation', async () => {
    const { config, database, row, ada, reason, clock } = await start()
    const rotating = { database, config: { ...config, ...ROTATING } }
    const advance = async (cookie: string) =>
      (await refreshSession(parseSessionCookie(cookie), rotating)).advance()
    const first = newCookie(await advance(ada.sessionCookie))
    expect((await row())?.tokenFamily).toMatch(/^[\w-]{43}$/)
    expect(await reason(ada.sessionCookie)).toBe('accepted')
    clock.advance(GRACE_SECONDS + 1)
    const second = newCookie(await advance(first))
    clock.advance(GRACE_SECONDS + 1)
    expect(await reasonOf(advance(first))).toBe('SESSION_NOT_FOUND')
    expect(await reasonOf(advance(second))).toBe('SESSION_NOT_FOUND')
  })

  describe('the previous secret', () => {
    test.each([0, 1, GRACE_SECONDS])('is accepted %d s later, and changes nothing', async (seconds) => {
      const { refresh, row, ada, clock, events } = await start(ROTATING)
      await refresh()
      clock.advance(seconds)
      const before = await row()
      expect(await refresh(ada.sessionCookie)).toMatchObject({
        id: ada.sessionId,
        renewed: false,
        cookie: null,
      })
      expect(await row()).toEqual(before)
      expect(events).toEqual([])
    })

    test("isn't accepted for an expired session or a banned user either", async () => {
      const { refresh, reason, ada, ban, expireSession, row } = await start(ROTATING)
      await refresh()
      await ban(ada)
      expect(await reason(ada.sessionCookie)).toBe('ACCOUNT_BANNED')
      await expireSession(ada)
      expect(await reason(ada.sessionCookie)).toBe('SESSION_EXPIRED')
      expect(await row()).toBeDefined()
    })

    test('used after the grace period ends the session in the same request, for the thief and the user', async () => {
      const own = await start(ROTATING)
      const { ada, clock } = own
      const current = newCookie(await own.refresh())
      clock.advance(GRACE_SECONDS + 0.001)
      own.published.length = 0
      const found = foundWhenAnnounced(ada, own.database)
      expect(await reasonOf(own.begin(ada.sessionCookie))).toBe('SESSION_NOT_FOUND')
      expect(await own.row()).toBeUndefined()
      expect(own.published).toEqual([{ sessionId: ada.sessionId, userId: ada.userId }])
      expect(await found).toBeNull()
      expect(await own.reason(current)).toBe('SESSION_NOT_FOUND')
      const revoked = { userId: ada.userId, sessionId: ada.sessionId, at: clock.now(), actorId: null }
      expect(own.events).toEqual([{ type: 'session.revoked', cause: 'token-replayed', ...revoked }])
      expect(await auditOf(own, ada)).toEqual([
        { type: 'session.revoked', actorId: null, detail: '{"cause":"token-replayed"}' },
      ])
    })

    test('used concurrently several times ends the session once', async () => {
      const { refresh, reason, ada, clock, events, row } = await start(ROTATING)
      await refresh()
      clock.advance(GRACE_SECONDS + 1)
      const reasons = await Promise.all(Array.from({ length: 5 }, () => reason(ada.sessionCookie)))
      expect(reasons).toEqual(Array(5).fill('SESSION_NOT_FOUND'))
      expect(await row()).toBeUndefined()
      expect(events).toHaveLength(1)
    })

    test("doesn't end the user's other sessions", async () => {
      const { refresh, reason, ada, clock, signIn, row } = await start(ROTATING)
      const other = await signIn({ userId: ada.userId })
      await refresh()
      clock.advance(GRACE_SECONDS + 1)
      await reason(ada.sessionCookie)
      expect(await row(other.sessionId)).toBeDefined()
    })
  })

  test.each([2, 3, 20])('a secret from %i rotations ago ends the session too', async (rotations) => {
    const { refresh, reason, ada, clock, row } = await start(ROTATING)
    let cookie = ada.sessionCookie
    for (let i = 0; i < rotations; i++) {
      clock.advance(GRACE_SECONDS + 1)
      cookie = newCookie(await refresh(cookie))
    }
    clock.advance(GRACE_SECONDS + 1)
    expect(await reason(ada.sessionCookie)).toBe('SESSION_NOT_FOUND')
    expect(await row()).toBeUndefined()
    expect(await reason(cookie)).toBe('SESSION_NOT_FOUND')
  })

  test.each<[string, (own: Awaited<ReturnType<typeof start>>) => string | Promise<string>]>([
    ['of nothing', () => ''],
    ['as long as one of no family', () => createSecret()],
    ['as long as one of a family', () => createSessionSecret(createSecret(), 1)],
    [
      "with another session's MAC",
      async ({ signIn }) => parseSessionCookie((await signIn()).sessionCookie).secret,
    ],
    [
      'almost equal to the first',
      ({ ada }) =>
        parseSessionCookie(ada.sessionCookie).secret.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    ],
    ['that is the first, truncated', ({ ada }) => parseSessionCookie(ada.sessionCookie).secret.slice(0, -2)],
    ['that is not base64url', () => '%%%'],
    ['that is the stored hash', async ({ row }) => `${(await row())?.token}`],
    ['that is the hash before', async ({ row }) => `${(await row())?.previousToken}`],
    ['that is the family key', async ({ row }) => `${(await row())?.tokenFamily}`],
  ])('a made-up secret %s is SESSION_NOT_FOUND, and ends nothing', async (_name, makeUp) => {
    const own = await start(ROTATING)
    const current = newCookie(await own.refresh())
    own.clock.advance(GRACE_SECONDS + 1)
    const secret = await makeUp(own)
    own.events.length = 0
    expect(await own.reason(`${own.ada.sessionId}.${secret}`)).toBe('SESSION_NOT_FOUND')
    expect(own.events).toEqual([])
    expect(await own.reason(current)).toBe('accepted')
  })

  test('concurrent refreshes with one secret all succeed, and one rotates it', async () => {
    const { refresh, reason, clock, ada } = await start(ROTATING)
    clock.advance(DAY_SECONDS)
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(ada.sessionCookie)))
    const changed = answers.filter(({ cookie }) => cookie !== null)
    expect(changed).toHaveLength(1)
    expect(answers.filter(({ renewed }) => renewed)).toHaveLength(1)
    expect(answers.map(({ id }) => id)).toEqual(Array(10).fill(ada.sessionId))
    clock.advance(GRACE_SECONDS + 1)
    expect(await reason(changed[0]?.cookie ?? '')).toBe('accepted')
  })
})

test('concurrent refreshes succeed, and extend the session once, or each time to the same date', async () => {
  const { refresh, clock, after, row, ada } = await start()
  clock.advance(DAY_SECONDS)
  const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(ada.sessionCookie)))
  for (const answer of answers) expect(answer).toMatchObject({ expiresAt: after(30 * DAY_SECONDS) })
  expect(await row()).toMatchObject({ expiresAt: after(30 * DAY_SECONDS).toISOString() })
})

import { type ProvedSession, type SessionKey, validateSession } from '@sallyport/core'
import type { AddedColumns } from '@sallyport/core/auth'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { lockedSessions } from '../../src/lifecycle/locked-sessions.ts'
import { databaseKinds, type OpenDatabase, type TestDatabase } from '../support/database-kinds.ts'
import { postgresClientKinds } from '../support/postgres-clients.ts'
import { testRateLimitStore } from '../support/rate-limit-contract.ts'
import { reasonOf } from '../support/reason-of.ts'
import { remoteKind, sqliteClientKinds } from '../support/sqlite-clients.ts'
import { inHours, literal, storeSession } from '../support/stored-sessions.ts'

const CORE = ['0001_tables']
const { config, close } = await createTestAuth()
afterAll(close)

/** `pnpm test:databases` runs all tests with each client. */
const IS_LONG = process.env.DATABASES === 'all'

/** Drizzle's settings use the same driver as `postgres`. PGlite, which starts slowly, has other tests too. */
const LONG_DRIVERS = ['postgres', 'PGlite']
const clients = [...(await postgresClientKinds()), ...sqliteClientKinds(), remoteKind()].filter(
  ({ driver }) => IS_LONG || !LONG_DRIVERS.includes(driver),
)
const kinds = [...(await databaseKinds()), ...clients]

describe.each(kinds)('$name with $driver', ({ name, driver, create }) => {
  // Migrations, rate limits, and most ids send each client the same kinds of statements as the other tests.
  const isWhole = IS_LONG || driver === 'a URL'
  let database: TestDatabase
  let opened: OpenDatabase
  let ada: ProvedSession
  beforeAll(async () => {
    database = await create()
    opened = await database.open()
  })
  beforeEach(async () => {
    ada = await storeSession(database)
  })

  const find = async (key: SessionKey) => opened.sessions.findSession(key)
  const validate = (key = ada) => reasonOf(validateSession(key, opened.sessions, config))
  const change = (table: 'session' | 'user', assignments: string) =>
    database.run(
      `update "${table}" set ${assignments} where id = ${literal(table === 'user' ? ada.userId : ada.sessionId)}`,
    )

  describe('a session', () => {
    test.each([
      ['of another version', 'version = 2', 'TOKEN_INVALID'],
      ['of another issuer', "issuer = 'https://id.example.com'", 'TOKEN_INVALID'],
      ['just rotated', `version = 2, "rotatedAt" = ${literal(inHours(0).toISOString())}`, 'accepted'],
      [
        'rotated an hour ago',
        `version = 2, "rotatedAt" = ${literal(inHours(-1).toISOString())}`,
        'TOKEN_INVALID',
      ],
    ])('%s has the same result in its row and in a transaction', async (_name, assignments, reason) => {
      await change('session', assignments)
      expect(await validate()).toBe(reason)
      const locked = opened.db
        .transaction()
        .execute((trx) => validateSession(ada, lockedSessions(trx, opened.locks), config))
      expect(await reasonOf(locked)).toBe(reason)
    })

    test('is found by its id and user id together, and returned with its user', async () => {
      const expiresAt = new Date('2031-01-02T03:04:05.678Z')
      const lastAuthenticatedAt = '2026-01-02T03:04:05.678Z'
      const banExpires = new Date('2026-01-02T03:04:05.001Z')
      await opened.db
        .updateTable('session')
        .set({ expiresAt, lastAuthenticatedAt: new Date(lastAuthenticatedAt) })
        .where('id', '=', ada.sessionId)
        .execute()
      await opened.db
        .updateTable('user')
        .set({ name: 'Ada ☃', role: 'admin', banned: true, banReason: 'spam', banExpires })
        .where('id', '=', ada.userId)
        .execute()
      expect(await find(ada)).toEqual({
        id: ada.sessionId,
        userId: ada.userId,
        expiresAt,
        lastAuthenticatedAt,
        version: 1,
        rotatedAt: null,
        issuer: null,
        amr: null,
        acr: null,
        user: {
          id: ada.userId,
          name: 'Ada ☃',
          email: `${ada.userId}@example.com`,
          role: 'admin',
        },
        ban: { until: banExpires },
      })
    })

    test("isn't found under the id of another user", async () => {
      const eve = await storeSession(database)
      expect(await find({ sessionId: ada.sessionId, userId: eve.userId })).toBeNull()
      expect(await find({ sessionId: eve.sessionId, userId: ada.userId })).toBeNull()
    })

    test("is found among many at once, without any that don't exist", async () => {
      const keys = await Promise.all(Array.from({ length: 20 }, () => storeSession(database)))
      const keysToFind = keys.flatMap((key) => [key, { ...key, userId: ada.userId }, key])
      const found = await Promise.all(keysToFind.map(find))
      expect(found.map((session) => session?.id ?? null)).toEqual(
        keys.flatMap(({ sessionId }) => [sessionId, null, sessionId]),
      )
    })

    test('is read from the database each time', async () => {
      expect(await find(ada)).toMatchObject({ user: { role: 'user' }, ban: null })
      await change('user', `role = 'admin', banned = true`)
      expect(await find(ada)).toMatchObject({ user: { role: 'admin' }, ban: { until: null } })
      await database.run(`delete from session where id = ${literal(ada.sessionId)}`)
      expect(await find(ada)).toBeNull()
    })
  })

  const LONE_SURROGATES = ['\ud83d', 'x\udc00', '\udc00\ud800']
  describe("an id that no session can have is not found, and isn't an error", () => {
    test
      .runIf(isWhole)
      .each([
        ['empty', ''],
        ['a space', ' '],
        ['a quote', "'"],
        ['SQL', "' or '1'='1"],
        ['a backslash', '\\'],
        ['an array', '{a,b}'],
        ['a null character', '\0'],
        ['a null character at its end', 'x\0'],
        ['an emoji', '🛑'],
        ...LONE_SURROGATES.map((id) => [`half an emoji ${JSON.stringify(id)}`, id]),
        ['10 kB', 'x'.repeat(10_240)],
        ['1 MB', 'é'.repeat(500_000)],
        ['null', 'null'],
        ['a number', '1'],
        ['a UUID', crypto.randomUUID()],
      ])('%s', async (_name, id) => {
      const lookups = [{ ...ada, sessionId: id }, { ...ada, userId: id }, ada]
      expect(await Promise.all(lookups.map(find))).toEqual([
        null,
        null,
        expect.objectContaining({ id: ada.sessionId }),
      ])
      expect(await opened.sessions.findToken(id)).toBeNull()
    })

    test.each([
      ['in capitals', (id: string) => id.toUpperCase()],
      ['with a space after it', (id: string) => `${id} `],
      ['with a null character after it', (id: string) => `${id}\0`],
      ['truncated', (id: string) => id.slice(0, -1)],
    ])("doesn't find a session by its id %s", async (_name, changed) => {
      // Never digits alone, which look the same in capitals.
      const key = await storeSession(database, { id: `abc-${crypto.randomUUID()}` })
      expect(await find({ ...key, sessionId: changed(key.sessionId) })).toBeNull()
      expect(await opened.sessions.findToken(changed(key.sessionId))).toBeNull()
    })

    test.each(['\ufffd', '\ufffd\ufffd'])(
      "doesn't confuse ids that differ only in a replaced character: %j",
      async (id) => {
        const key = await storeSession(database, { id: `${ada.sessionId}${id}` })
        expect(await find({ ...key, sessionId: `${ada.sessionId}\ud83d` })).toBeNull()
        expect(await opened.sessions.findToken(`${ada.sessionId}\ud83d`)).toBeNull()
      },
    )
  })

  test('finds a session by an id of any characters', async () => {
    const key = await storeSession(database, { id: `'"\\{},é🛑 ${'x'.repeat(1000)}`, userId: `null"\\'{🛑` })
    expect(await find(key)).toMatchObject({ id: key.sessionId, userId: key.userId })
    expect(await opened.sessions.findToken(key.sessionId)).toMatchObject({ userId: key.userId })
  })

  describe('the row', () => {
    const later = literal(inHours(1).toISOString())
    const earlier = literal(inHours(-1).toISOString())
    const none = name === 'SQLite' ? `'soon'` : `'infinity'`

    test.each([
      ['an expiry in the past', 'session', `"expiresAt" = ${earlier}`, 'SESSION_EXPIRED'],
      ["an expiry that isn't a date", 'session', `"expiresAt" = ${none}`, 'SESSION_EXPIRED'],
      ['a ban', 'user', 'banned = true', 'ACCOUNT_BANNED'],
      ['a ban that ends in the future', 'user', `banned = true, "banExpires" = ${later}`, 'ACCOUNT_BANNED'],
      ["a ban whose end isn't a date", 'user', `banned = true, "banExpires" = ${none}`, 'ACCOUNT_BANNED'],
      ['a ban that has ended', 'user', `banned = true, "banExpires" = ${earlier}`, 'accepted'],
      ['no ban', 'user', `banned = false, "banExpires" = ${later}`, 'accepted'],
    ] as const)('decides: %s', async (_name, table, assignments, reason) => {
      await change(table, assignments)
      expect(await validate()).toBe(reason)
    })

    test.each(['x', 2, -1])('treats an unknown flag as a ban: %j', async (value) => {
      if (name === 'PostgreSQL') return expect(change('user', `banned = '${value}x'`)).rejects.toThrow()
      await change('user', `banned = '${value}'`)
      expect(await validate()).toBe('ACCOUNT_BANNED')
    })
  })

  describe('the row of a session cookie', () => {
    test('is found only by the exact id', async () => {
      const changed = {
        previousToken: 'sha256:previous',
        rotatedAt: new Date('2026-11-21T10:00:00.007Z'),
        tokenFamily: 'family',
        expiresAt: new Date('2026-11-22T10:00:00.007Z'),
        createdAt: new Date('2026-11-20T10:00:00.007Z'),
        lastSeenAt: new Date('2026-11-21T09:00:00.007Z'),
        remembered: false,
      }
      expect(await opened.sessions.findToken(ada.sessionId)).toMatchObject({
        userId: ada.userId,
        previousToken: null,
        rotatedAt: null,
        tokenFamily: null,
        remembered: true,
      })
      await opened.db.updateTable('session').set(changed).where('id', '=', ada.sessionId).execute()
      expect(await opened.sessions.findToken(ada.sessionId)).toEqual({
        userId: ada.userId,
        version: 1,
        provedVersion: 1,
        token: `sha256:${ada.sessionId}`,
        ...changed,
      })
    })

    test('keeps an invalid expiry as an invalid date', async () => {
      await change('session', `"expiresAt" = ${name === 'SQLite' ? `'soon'` : `'infinity'`}`)
      const found = await opened.sessions.findToken(ada.sessionId)
      expect(found?.expiresAt.getTime()).toBeNaN()
    })
  })

  describe.runIf(isWhole)('migrations', () => {
    /** Returns the tables, columns, indexes, and triggers. */
    const schemaOf = ({ rows }: TestDatabase) =>
      name === 'SQLite'
        ? rows(`select type, name, sql from sqlite_schema where name not like 'sqlite_%' order by type, name`)
        : rows(`select table_name as name, column_name as sql, data_type as type from information_schema.columns
            where table_schema in ('public', 'sallyport') union all
            select indexname, indexdef, 'index' from pg_indexes where schemaname in ('public', 'sallyport') union all
            select tgname, pg_get_triggerdef(oid), 'trigger' from pg_trigger where not tgisinternal
            order by 1, 2, 3`)

    test('are applied once: the next start applies none and changes nothing', async () => {
      const fresh = await create()
      expect((await fresh.open()).migrations.applied).toEqual(CORE)
      const schema = await schemaOf(fresh)
      // A trigger, which SQLite doesn't have, or an index.
      const known = name === 'SQLite' ? 'session_userId' : 'sallyport_session_changed'
      expect(schema).toContainEqual(expect.objectContaining({ name: known }))
      expect((await fresh.open()).migrations.applied).toEqual([])
      expect(await schemaOf(fresh)).toEqual(schema)
    })

    test('are applied once if several processes start at the same time', async () => {
      const fresh = await create()
      const all = await Promise.all(Array.from({ length: 3 }, () => fresh.open()))
      expect(all.flatMap(({ migrations }) => migrations.applied)).toEqual(CORE)
    })

    test('are rolled back if they fail', async () => {
      const failed = await create()
      await failed.run('create table account (id text)')
      await expect(failed.open()).rejects.toThrow(/account/)
      expect(await schemaOf(failed)).not.toContainEqual(expect.objectContaining({ name: 'user' }))
      await failed.run('drop table account')
      expect((await failed.open()).migrations.applied).toEqual(CORE)
    })
  })

  describe.runIf(isWhole)('rate limits', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
    afterEach(() => void vi.useRealTimers())

    describe('in general', () => {
      testRateLimitStore({
        consume: (key, limit) => opened.limits.consume(key, limit),
        giveBack: async (key, limit) => opened.limits.giveBack?.(key, limit),
      })
    })

    const LIMIT = { points: 3, duration: 60 }
    test('are shared by all processes on the database: concurrent calls allow the exact number', async () => {
      const [key, other] = [crypto.randomUUID(), await database.open()]
      const both = [opened.limits, other.limits]
      const results = await Promise.all(
        both.flatMap((limits) => Array.from({ length: 40 }, () => limits.consume(key, LIMIT))),
      )
      expect(results.filter((result) => result === null)).toHaveLength(3)
    })

    test('allow an attempt that another process gave back, although it had rejected the key', async () => {
      const [key, other] = [crypto.randomUUID(), await database.open()]
      for (let i = 0; i < 4; i++) await opened.limits.consume(key, LIMIT)
      expect(await other.limits.consume(key, LIMIT)).toBe(60)
      await opened.limits.giveBack?.(key, LIMIT)
      expect(await other.limits.consume(key, LIMIT)).toBeNull()
      expect(await opened.limits.consume(key, LIMIT)).toBe(60)
    })

    test('write nothing once the limit is reached', async () => {
      const key = crypto.randomUUID()
      for (let i = 0; i < 3; i++) await opened.limits.consume(key, LIMIT)
      const counts = () =>
        database.rows(`select * from ${database.internal('rate_limit')} where key like '%${key}'`)
      const before = await counts()
      expect(before).toHaveLength(1)
      for (let i = 0; i < 10; i++) expect(await opened.limits.consume(key, LIMIT)).toBe(60)
      expect(await counts()).toEqual(before)
    })

    test('count attempts made in an open transaction, even if it is rolled back', async () => {
      const [key, limit] = [crypto.randomUUID(), { points: 1, duration: 60 }]
      const { promise: undone, resolve: undo } = Promise.withResolvers<void>()
      const transaction = opened.db.transaction().execute(async (trx) => {
        await trx.deleteFrom('user').where('id', '=', 'missing').execute()
        await undone
        throw new Error('undone')
      })
      const counted = opened.limits.consume(key, limit)
      undo()
      await expect(transaction).rejects.toThrow('undone')
      expect([await counted, await opened.limits.consume(key, limit)]).toEqual([null, 60])
    })
  })

  test('rejects every call with SESSIONS_UNAVAILABLE after it is closed', async () => {
    const closed = await database.open()
    await closed.limits.consume('before', { points: 7, duration: 7 })
    const trx = closed.db.transaction()
    await closed.close()
    await closed.close()
    const late = {
      lookup: validateSession(ada, closed.sessions, config),
      statement: closed.db.deleteFrom('session').execute(),
      transaction: trx.execute(async (trx) => trx.deleteFrom('session').execute()),
      limit: closed.limits.consume('after', { points: 1, duration: 1 }),
      'counting a limit': closed.limits.consume('before', { points: 7, duration: 7 }),
      'giving back an attempt': (async () =>
        closed.limits.giveBack?.('before', { points: 7, duration: 7 }))(),
    }
    for (const [what, work] of Object.entries(late))
      expect({ [what]: await reasonOf(work) }).toEqual({ [what]: 'SESSIONS_UNAVAILABLE' })
    expect(await find(ada)).toMatchObject({ id: ada.sessionId })
  })

  describe('the columns of a definition', () => {
    const columns: AddedColumns = {
      session: { team: { type: 'text' }, theme: { type: 'text', default: "it's" } },
      user: {
        theme: { type: 'text' },
        credits: { type: 'number', default: 1.5 },
        isQuiet: { type: 'flag', default: false },
        isLoud: { type: 'flag', default: true },
        remindAt: { type: 'timestamp' },
      },
    }
    const fresh = {
      session: { team: null, theme: "it's" },
      user: { theme: null, credits: 1.5, isQuiet: false, isLoud: true, remindAt: null },
    }
    let ofColumns: TestDatabase
    let wide: OpenDatabase
    let carol: SessionKey
    beforeAll(async () => {
      ofColumns = await create()
      wide = await ofColumns.open({ columns })
      carol = await storeSession(ofColumns)
    })
    const findCarol = async () => wide.sessions.findSession(carol)

    test('are added if missing, once if several open at the same time, and read with the session', async () => {
      expect(wide.migrations.applied).toEqual([
        ...CORE,
        'user.theme',
        'user.credits',
        'user.isQuiet',
        'user.isLoud',
        'user.remindAt',
        'session.team',
        'session.theme',
      ])
      const { user, ...session } = (await findCarol()) ?? { user: null }
      expect(session).toMatchObject(fresh.session)
      expect(user).toMatchObject(fresh.user)
      const more: AddedColumns = { user: { city: { type: 'text', default: '' } }, session: {} }
      const both = await Promise.all([ofColumns.open({ columns: more }), ofColumns.open({ columns: more })])
      expect(both.flatMap(({ migrations }) => migrations.applied)).toEqual(['user.city'])
    })

    test('are read the same way by Step 2 and under the locks of a transaction', async () => {
      const at = '2026-01-02T03:04:05.678Z'
      const written = name === 'SQLite' ? 0 : false
      await wide.db
        .$extendTables<{ user: Record<string, unknown>; session: Record<string, unknown> }>()
        .updateTable('user')
        .set({
          theme: 'dark',
          credits: 2 ** 40 + 0.25,
          isQuiet: true,
          isLoud: written,
          remindAt: new Date(at),
        })
        .where('id', '=', carol.userId)
        .execute()
      await ofColumns.run(`update session set team = 'Ω', theme = 'x' where id = ${literal(carol.sessionId)}`)
      const found = await findCarol()
      expect(found).toMatchObject({
        team: 'Ω',
        theme: 'x',
        user: { theme: 'dark', credits: 2 ** 40 + 0.25, isQuiet: true, isLoud: false, remindAt: at },
      })
      const locked = await wide.db
        .transaction()
        .execute(async (trx) => lockedSessions(trx, wide.locks).findSession(carol))
      expect(locked).toEqual(found)
    })

    test("are not read if they aren't declared", async () => {
      const narrow = await ofColumns.open()
      const session = await narrow.sessions.findSession(carol)
      expect(session).not.toHaveProperty('team')
      expect(session?.user).not.toHaveProperty('theme')
    })
  })
})

import { ConfigurationError, type ProvedSession, validateSession } from '@sallyport/core'
import type { StoreMapping } from '@sallyport/core/postgres'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { InternalTable } from '../../../src/database/schema/internal-tables.ts'
import type { DatabaseKind, OpenStore, TestDatabase } from '../../support/database-kinds.ts'
import { encodings } from '../../support/mapped-tables.ts'
import { reasonOf } from '../../support/reason-of.ts'
import { inHours, literal, OURS, takeLog } from '../../support/stored-sessions.ts'
import { until } from '../../support/until.ts'

const { config, close } = await createTestAuth()
afterAll(close)
const all = await encodings()
const kinds = [...new Set(all.map(({ kind }) => kind))]

/** SQLite has no triggers. */
const hasTriggers = ({ name }: DatabaseKind) => name === 'PostgreSQL'

const MAPPING = {
  session: {
    table: 'login sessions',
    columns: {
      id: 'session_id',
      userId: 'user_id',
      expiresAt: 'expires_at',
      lastAuthenticatedAt: 'created_at',
    },
  },
  user: {
    table: 'people',
    columns: {
      id: 'person "id"',
      name: 'full_name',
      email: 'mail',
      role: 'kind',
      banned: 'is_banned',
      banExpires: 'until',
    },
  },
} as const satisfies StoreMapping

describe.each(all)('$name', ({ kind, dates, type, write }) => {
  const [soon, past] = [new Date('2031-01-02T03:04:05.000Z'), new Date('2026-01-02T03:04:05.000Z')]
  const mapping: StoreMapping = { ...MAPPING, dates }
  const ada = { sessionId: 's1', userId: 'u1', ...OURS }
  let database: TestDatabase
  let store: OpenStore

  beforeAll(async () => {
    database = await kind.create()
    await database.run(`
      create table people ("person ""id""" text primary key, full_name text, mail text, kind text, is_banned boolean default false,
        until ${type});
      create table "login sessions" (session_id text primary key, user_id text, expires_at ${type}, created_at ${type});
      insert into people values ('u1', 'Ada', 'ada@example.com', 'admin', false, ${write(past)}), ('u2', 'Eve', null, null, null, null);
      insert into "login sessions" values ('s1', 'u1', ${write(soon)}, ${write(past)}), ('s2', 'u2', ${write(soon)}, ${write(past)})`)
    store = await database.openStore(mapping)
  })

  test('reads a session from tables with other names', async () => {
    expect(await store.sessions.findSession(ada)).toEqual({
      id: 's1',
      userId: 'u1',
      expiresAt: soon,
      lastAuthenticatedAt: past.toISOString(),
      version: null,
      rotatedAt: null,
      issuer: null,
      amr: null,
      acr: null,
      user: {
        id: 'u1',
        name: 'Ada',
        email: 'ada@example.com',
        role: 'admin',
      },
      ban: null,
    })
    expect(await store.sessions.findSession({ sessionId: 's1', userId: 'u2' })).toBeNull()
  })

  test('treats null like a missing column', async () => {
    expect(await store.sessions.findSession({ sessionId: 's2', userId: 'u2' })).toMatchObject({
      user: { name: 'Eve', email: '', role: 'user' },
      ban: null,
    })
    await database.run(`insert into "login sessions" values ('s3', 'u2', null, null)`)
    const without = { sessionId: 's3', userId: 'u2', ...OURS }
    expect(await reasonOf(validateSession(without, store.sessions, config))).toBe('SESSION_EXPIRED')
    expect(await store.sessions.findSession(without)).toMatchObject({
      lastAuthenticatedAt: new Date(0).toISOString(),
    })
  })

  test.runIf(!hasTriggers(kind))('finds a manual change by polling the file', async () => {
    const listener = vi.fn<() => void>()
    await database.run(
      `insert into "login sessions" values ('s5', 'u2', ${write(inHours(1))}, ${write(past)})`,
    )
    onTestFinished(store.revocations.subscribe({ sessionId: 's5', userId: 'u2' }, listener))
    await until(() => listener.mock.calls.length === 1)
    await database.run(`delete from "login sessions" where session_id = 's5'`)
    await until(() => listener.mock.calls.length === 2)
  })

  test.runIf(hasTriggers(kind))('announces a manual change on the feed', async () => {
    const listener = vi.fn<() => void>()
    const begun = database.rows(`select count(*) as n from ${database.internal('revocation_log')}`)
    onTestFinished(store.revocations.subscribe({ sessionId: 's4', userId: 'u2' }, listener))
    await begun
    await database.run(
      `insert into "login sessions" values ('s4', 'u2', ${write(inHours(1))}, ${write(past)})`,
    )
    await takeLog(database)
    await database.run(`delete from "login sessions" where session_id = 's4'`)
    await until(() => listener.mock.calls.length > 0)
    await database.run(`update people set kind = 'x' where full_name = 'Eve'`)
    expect(await takeLog(database)).toEqual([
      ['s4', 'u2'],
      [null, 'u2'],
    ])
  })

  test('counts attempts', async () => {
    const limit = { points: 1, duration: 60 }
    expect([await store.limits?.consume('k', limit), await store.limits?.consume('k', limit)]).toEqual([
      null,
      60,
    ])
  })

  test('opens the same database again', async () => {
    const again = await database.openStore(mapping)
    expect(await again.sessions.findSession(ada)).toMatchObject({ id: 's1' })
    await database.run(`update people set kind = 'y' where full_name = 'Eve'`)
    if (hasTriggers(kind)) expect(await takeLog(database)).toEqual([[null, 'u2']])
  })

  const others = all.filter((other) => other.kind === kind && other.type !== type && other.dates !== dates)
  test.each(others.map((other) => [other.dates]))('rejects %s for their dates', async (wrong) => {
    const opening = database.openStore({ ...mapping, dates: wrong })
    await expect(opening).rejects.toThrow(ConfigurationError)
    await expect(opening).rejects.toThrow(/^mapping: /)
  })
})

describe.each(kinds)('$name', (kind) => {
  const isSqlite = kind.name === 'SQLite'
  const type = isSqlite ? 'text' : 'timestamptz'
  const soon = literal(inHours(1).toISOString())

  async function createTables(columns: string, userColumns = '') {
    const database = await kind.create()
    await database.run(`
      create table "user" (id text primary key${userColumns});
      create table session (id text primary key, "userId" text${columns});
      insert into "user" (id) values ('u');
      insert into session (id, "userId", "expiresAt") values ('s', 'u', ${soon})`)
    return database
  }
  const none = {
    session: { columns: { lastAuthenticatedAt: null } },
    user: {
      columns: { name: null, email: null, role: null, banned: null, banExpires: null },
    },
  } as const

  test('gives unmapped columns default values', async () => {
    const database = await createTables(`, "expiresAt" ${type}`)
    const { sessions } = await database.openStore(none)
    const key = { sessionId: 's', userId: 'u', ...OURS }
    expect(await sessions.findSession(key)).toMatchObject({
      lastAuthenticatedAt: new Date(0).toISOString(),
      user: { name: '', email: '', role: 'user' },
      ban: null,
    })
    expect(await reasonOf(validateSession(key, sessions, config))).toBe('accepted')
    await database.run(`delete from session; delete from "user"`)
    if (!hasTriggers(kind)) return
    expect(await takeLog(database)).toEqual([
      ['s', 'u'],
      [null, 'u'],
    ])
  })

  test.each([
    ['a table of sessions', { ...none, session: { ...none.session, table: 'nowhere' } }, 'nowhere'],
    ['a table of users', { ...none, user: { ...none.user, table: 'nowhere' } }, 'nowhere'],
    ['the id of a session', { ...none, session: { columns: { ...none.session.columns, id: 'sid' } } }, 'sid'],
    ['the id of a user', { ...none, user: { columns: { ...none.user.columns, id: 'uid' } } }, 'uid'],
    [
      'the user of a session',
      { ...none, session: { columns: { ...none.session.columns, userId: 'owner' } } },
      'owner',
    ],
    ['an expiry', { ...none, session: { columns: { ...none.session.columns, expiresAt: 'ends' } } }, 'ends'],
    ['a role', { ...none, user: { columns: { ...none.user.columns, role: 'rank' } } }, 'rank'],
    ["a built-in column that isn't mapped", {}, 'lastAuthenticatedAt'],
  ] satisfies [string, StoreMapping, string][])(
    'rejects a missing column or table by name: %s',
    async (_name, mapping, missing) => {
      const database = await createTables(`, "expiresAt" ${type}`)
      const opening = database.openStore(mapping)
      await expect(opening).rejects.toThrow(ConfigurationError)
      await expect(opening).rejects.toThrow(missing)
      // Nothing is created in a database that doesn't match.
      await expect(database.rows(`select * from ${database.internal('rate_limit')}`)).rejects.toThrow()
    },
  )

  test('trusts the mapping of an empty table', async () => {
    const database = await createTables(`, "expiresAt" ${type}`)
    await database.run('delete from session')
    const { sessions } = await database.openStore(none)
    await database.run(`insert into session values ('new', 'u', ${soon})`)
    expect(await sessions.findSession({ sessionId: 'new', userId: 'u' })).toMatchObject({ id: 'new' })
  })

  test('deletes expired rows every hour', async () => {
    const database = await createTables(`, "expiresAt" ${type}`)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const store = await database.openStore(none)
    const fill = async () => {
      for (const [user, at] of [
        ['old', inHours(-1)],
        ['new', new Date()],
      ] as const)
        if (!isSqlite)
          await database.run(
            `insert into ${database.internal('revocation_log')} ("userId", at) values ('${user}', ${literal(at.toISOString())})`,
          )
      for (const [key, at] of [
        ['old', inHours(-1)],
        ['new', inHours(1)],
      ] as const)
        await database.run(
          `insert into ${database.internal('rate_limit')} values ('${key}', 1, ${at.getTime()})`,
        )
    }
    const tables = isSqlite ? { rate_limit: 'key' } : { rate_limit: 'key', revocation_log: '"userId"' }
    const left = async () => {
      const names = Object.entries(tables).map(([table, name]) =>
        database.rows(`select ${name} as name from ${database.internal(table as InternalTable)}`),
      )
      return (await Promise.all(names)).flat()
    }
    await fill()
    vi.advanceTimersByTime(60 * 60 * 1000)
    await until(async () => (await left()).every(({ name }) => name === 'new'))
    expect(await left()).toEqual(Object.keys(tables).map(() => ({ name: 'new' })))
    await store.close()
    expect(vi.getTimerCount()).toBe(0)
  })

  test.runIf(hasTriggers(kind))('updates the triggers when the mapping changes', async () => {
    const database = await createTables(`, "expiresAt" ${type}, ended ${type}`, ', role text, rank text')
    const withRole = (role: string): StoreMapping => ({
      ...none,
      user: { columns: { ...none.user.columns, role } },
    })
    await database.openStore(withRole('role'))
    await database.openStore(withRole('rank'))
    await database.run(`update "user" set role = 'x'`)
    expect(await takeLog(database)).toEqual([])
    await database.run(`update "user" set rank = 'x'`)
    expect(await takeLog(database)).toEqual([[null, 'u']])
  })

  test("escapes names, so a name can't end a statement", async () => {
    const database = await createTables(`, "expiresAt" ${type}`)
    const evil = `"; drop table session; --`
    for (const mapping of [
      { ...none, session: { ...none.session, table: evil } },
      { ...none, user: { columns: { ...none.user.columns, role: evil } } },
    ])
      await expect(database.openStore(mapping)).rejects.toThrow(ConfigurationError)
    expect(await database.rows('select id from session')).toEqual([{ id: 's' }])
  })
})

const [sqlite, postgres] = kinds
if (sqlite === undefined || postgres === undefined) throw new Error('Both databases are tested')

test("rejects a missing SQLite file and doesn't create it", async () => {
  const { openSqliteStore } = await import('@sallyport/core/sqlite')
  const { existsSync } = await import('node:fs')
  await expect(openSqliteStore('/nowhere/app.db', { mapping: {} })).rejects.toThrow(ConfigurationError)
  expect(existsSync('/nowhere')).toBe(false)
})

test.each(['timestamp', 'timestamptz'] as const)(
  'SQLite has no %s, so the error names the setting',
  async (dates) => {
    const database = await sqlite.create()
    await database.run('create table user (id); create table session (id, userId, expiresAt)')
    await expect(database.openStore({ dates })).rejects.toThrow(
      new ConfigurationError(
        `mapping: SQLite has no type ${dates}. Set mapping.dates to iso, seconds, or milliseconds.`,
      ),
    )
  },
)

test.each(['view', 'materialized view'])('a %s is mapped without triggers, with a warning', async (type) => {
  const database = await postgres.create()
  await database.run(`
    create table people (id text primary key);
    create table logins (id text primary key, "userId" text, "expiresAt" timestamptz);
    insert into people values ('u'); insert into logins values ('s', 'u', now() + interval '1 hour');
    create ${type} session_view as select * from logins`)
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const { sessions } = await database.openStore({
    session: { table: 'session_view', columns: { lastAuthenticatedAt: null } },
    user: {
      table: 'people',
      columns: { name: null, email: null, role: null, banned: null, banExpires: null },
    },
  })
  expect(await sessions.findSession({ sessionId: 's', userId: 'u' })).toMatchObject({ id: 's' })
  const messages = warn.mock.calls.map(([text]) => String(text))
  expect(messages.filter((text) => !text.includes('mapping.'))).toEqual([
    expect.stringContaining('views can\'t report changes: "session_view"'),
  ])
  await takeLog(database)
  await database.run(`delete from people where id = 'u'`)
  expect(await takeLog(database)).toEqual([[null, 'u']])
})

test.each([
  { type: 'text', id: `'7'`, isFound: true },
  { type: 'integer', id: '7', isFound: true },
  { type: 'bigint', id: '9223372036854775807', isFound: true },
  { type: 'uuid', id: `'0198c6a2-7b1e-7c3d-8e4f-5a6b7c8d9e0f'`, isFound: true },
  { type: '', id: `'7'`, isFound: true },
  { type: 'blob', id: `'7'`, isFound: true },
  { type: 'blob', id: `x'37'`, isFound: false },
  { type: '', id: '7', isFound: false },
])(
  'in SQLite, an id $id in a column of type "$type" is found, or rejected at the start',
  async ({ type, id, isFound }) => {
    const mapping: StoreMapping = {
      session: { columns: { lastAuthenticatedAt: null } },
      user: { columns: { name: null, email: null, role: null, banned: null, banExpires: null } },
    }
    const expiresAt = literal(inHours(1).toISOString())
    const text = { type: 'text', id: `'x'` }
    for (const [session, user] of [
      [{ type, id }, text],
      [text, { type, id }],
    ] as const) {
      const database = await sqlite.create()
      await database.run(`
      create table "user" (id ${user.type});
      create table session (id ${session.type}, "userId" ${user.type}, "expiresAt" text);
      insert into "user" values (${user.id});
      insert into session values (${session.id}, ${user.id}, ${expiresAt})`)
      const opening = database.openStore(mapping)
      if (isFound) {
        const { sessions } = await opening
        const key = { sessionId: session.id.replaceAll("'", ''), userId: user.id.replaceAll("'", '') }
        expect(await sessions.findSession(key)).toMatchObject({ id: key.sessionId })
      } else await expect(opening).rejects.toThrow("mapping: a session can't be found by the text of its ids")
    }
  },
)

test('a user without a role has the default role, also in a PostgreSQL enum', async () => {
  const database = await postgres.create()
  await database.run(`
    create type role as enum ('admin');
    create table "user" (id text primary key, role role);
    create table session (id text primary key, "userId" text, "expiresAt" timestamptz);
    insert into "user" values ('ada', 'admin'), ('eve', null);
    insert into session values ('s1', 'ada', now() + interval '1 hour'), ('s2', 'eve', now() + interval '1 hour')`)
  const { sessions } = await database.openStore({
    session: { columns: { lastAuthenticatedAt: null } },
    user: {
      columns: { name: null, email: null, banned: null, banExpires: null },
      defaultRole: 'reader',
    },
  })
  const roleOf = async (sessionId: string, userId: string) =>
    (await sessions.findSession({ sessionId, userId }))?.user.role
  expect([await roleOf('s1', 'ada'), await roleOf('s2', 'eve')]).toEqual(['admin', 'reader'])
})

describe('PostgreSQL, with ids', () => {
  const uuid = () => crypto.randomUUID()
  const number = () => String(Math.floor(Math.random() * 2 ** 40))
  const MALFORMED = [
    '',
    'x',
    '\0',
    '1 ',
    ' 1',
    '1.5',
    '-',
    '+1',
    '1e3',
    '0x1',
    '\ud83d',
    "'",
    '99999999999999999999999',
    'null',
  ]

  test.each([
    {
      type: 'uuid',
      make: uuid,
      malformed: [...MALFORMED, '1', uuid().slice(1), `{${uuid()}}`, uuid().replaceAll('-', '')],
    },
    { type: 'bigint', make: number, malformed: [...MALFORMED, uuid(), '9223372036854775808', '01'] },
    {
      type: 'integer',
      make: () => String(Math.floor(Math.random() * 2 ** 30)),
      malformed: [...MALFORMED, uuid()],
    },
    { type: 'varchar(40)', make: uuid, malformed: MALFORMED },
  ])(
    "of the type $type find sessions, and malformed ids don't fail other lookups",
    async ({ type, make, malformed }) => {
      const database = await postgres.create()
      await database.run(`
      create schema app;
      create table app.users (id ${type} primary key, role text, banned boolean, "banExpires" timestamp);
      create table app.sessions (id ${type} primary key, "userId" ${type} references app.users on delete cascade, "expiresAt" timestamp)`)
      const keys: ProvedSession[] = []
      for (let i = 0; i < 3; i++) {
        const key = { sessionId: make(), userId: make(), ...OURS }
        keys.push(key)
        await database.run(`insert into app.users (id) values ('${key.userId}');
        insert into app.sessions values ('${key.sessionId}', '${key.userId}', now() at time zone 'UTC' + interval '1 hour')`)
      }
      const { sessions, revocations } = await database.openStore({
        session: { table: 'app.sessions', columns: { lastAuthenticatedAt: null } },
        user: { table: 'app.users', columns: { name: null, email: null } },
      })
      const [ada = { sessionId: '', userId: '', ...OURS }] = keys
      const keysToFind = malformed.flatMap((id) => [
        { ...ada, sessionId: id },
        ...keys,
        { ...ada, userId: id },
      ])
      const found = await Promise.all(
        keysToFind.map(async (key) => (await sessions.findSession(key))?.id ?? null),
      )
      expect(found).toEqual(malformed.flatMap(() => [null, ...keys.map(({ sessionId }) => sessionId), null]))
      expect(await reasonOf(validateSession(ada, sessions, config))).toBe('accepted')
      const listener = vi.fn<() => void>()
      onTestFinished(revocations.subscribe(ada, listener))
      await database.run(`delete from app.users where id = '${ada.userId}'`)
      await until(() => listener.mock.calls.length > 0)
      expect(await takeLog(database)).toContainEqual([ada.sessionId, ada.userId])
    },
  )

  test.each(['9223372036854775807', '1700000000000000000'])(
    'accepts a bigint of 19 digits: %s',
    async (id) => {
      const database = await postgres.create()
      await database.run(`
      create table "user" (id bigint primary key, name text, email text, role text, banned boolean, "banExpires" timestamptz);
      create table session (id bigint primary key, "userId" bigint, "expiresAt" timestamptz, "lastAuthenticatedAt" timestamptz);
      insert into "user" (id) values (${id});
      insert into session values (${id}, ${id}, now() + interval '1 hour', now())`)
      const { sessions } = await database.openStore({})
      expect(await sessions.findSession({ sessionId: id, userId: id })).toMatchObject({ id, userId: id })
    },
  )

  test("finds a uuid only in the database's spelling, as in the revocation log", async () => {
    const database = await postgres.create()
    const id = 'abcdefab-cdef-4bcd-8bcd-abcdefabcdef'
    await database.run(`
      create table "user" (id uuid primary key, name text, email text, role text, banned boolean, "banExpires" timestamptz);
      create table session (id uuid primary key, "userId" uuid, "expiresAt" timestamptz, "lastAuthenticatedAt" timestamptz);
      insert into "user" (id) values ('${id}');
      insert into session values ('${id}', '${id}', now() + interval '1 hour', now())`)
    const { sessions } = await database.openStore({})
    expect(await sessions.findSession({ sessionId: id, userId: id })).toMatchObject({ id })
    expect(await sessions.findSession({ sessionId: id.toUpperCase(), userId: id })).toBeNull()
    expect(await sessions.findSession({ sessionId: id, userId: id.toUpperCase() })).toBeNull()
  })

  test('rejects an unsupported id type by name', async () => {
    const database = await postgres.create()
    await database.run('create table "user" (id text); create table session (id boolean, "userId" text)')
    await expect(database.openStore({})).rejects.toThrow('session.id is boolean')
  })
})

test('reads and revokes a session in the same way from a connection in another time zone', async () => {
  const database = await postgres.create()
  const name = new URL(database.url).pathname.slice(1)
  await database.run(`
    create table "user" (id text primary key, name text, email text, role text, banned boolean, "banExpires" timestamp);
    create table session (id text primary key, "userId" text, "expiresAt" timestamp, "lastAuthenticatedAt" timestamp);
    insert into "user" (id) values ('u');
    alter database "${name}" set timezone to 'America/Los_Angeles'`)
  const { sessions } = await database.openStore({})
  const expiresAt = inHours(1)
  const insert = (id: string, at: Date) => `insert into session values
    ('${id}', 'u', '${at.toISOString().slice(0, -1)}', '2026-01-02 03:04:05')`
  await database.run(`${insert('live', expiresAt)}; ${insert('over', inHours(-1))}`)
  expect(await sessions.findSession({ sessionId: 'live', userId: 'u' })).toMatchObject({
    expiresAt,
    lastAuthenticatedAt: '2026-01-02T03:04:05.000Z',
  })
  for (const zone of ['America/Los_Angeles', 'UTC', 'Asia/Tokyo']) {
    await database.run(`set timezone to '${zone}'; delete from session`)
    expect({ zone, log: await takeLog(database) }).toEqual({ zone, log: [['live', 'u']] })
    await database.run(`${insert('live', expiresAt)}; ${insert('over', inHours(-1))}`)
  }
})

describe.each(kinds)('$name, sessions of another library', (kind) => {
  const isSqlite = kind.name === 'SQLite'
  const soon = literal(inHours(1).toISOString())
  const ISSUER = "https://id.example.com/o'neill"
  const ours = { sessionId: 's', userId: 'u', ...OURS }
  const foreign = { ...ours, version: null, issuer: ISSUER }

  async function openWith({
    mapping,
    versionType = 'integer',
  }: {
    mapping: StoreMapping
    versionType?: string
  }) {
    const database = await kind.create()
    if (isSqlite) await database.run('pragma journal_mode = wal')
    await database.run(`
      create table "user" (id text primary key, name text, email text, role text, banned boolean, "banReason" text,
        "banExpires" ${isSqlite ? 'text' : 'timestamptz'});
      create table session (id text primary key, "userId" text, "expiresAt" ${isSqlite ? 'text' : 'timestamptz'},
        "lastAuthenticatedAt" ${isSqlite ? 'text' : 'timestamptz'}, generation ${versionType});
      insert into "user" (id) values ('u');
      insert into session (id, "userId", "expiresAt", generation) values ('s', 'u', ${soon}, 7)`)
    return { database, store: await database.openStore(mapping) }
  }
  const reason = ({ sessions }: OpenStore, identity: ProvedSession) =>
    reasonOf(validateSession(identity, sessions, config))

  test('ignores the version without a version column', async () => {
    const { store } = await openWith({ mapping: {} })
    for (const version of [1, 7, 99]) expect(await reason(store, { ...ours, version })).toBe('accepted')
  })

  test.each([
    { mapping: {}, warnings: 1 },
    { mapping: { session: { columns: { version: null } } }, warnings: 1 },
    { mapping: { session: { columns: { version: 'generation' } } }, warnings: 0 },
  ] satisfies { mapping: StoreMapping; warnings: number }[])(
    'a store with $mapping warns $warnings times at startup',
    async ({ mapping, warnings }) => {
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
      onTestFinished(() => warn.mockRestore())
      await openWith({ mapping })
      const messages = warn.mock.calls.map(([text]) => String(text))
      expect(messages.filter((text) => text.includes('mapping.'))).toEqual(
        Array.from({ length: warnings }, () => expect.stringContaining('mapping.session.columns.version')),
      )
    },
  )

  test.each(isSqlite ? ['integer'] : ['integer', 'bigint', 'smallint', 'numeric'])(
    'compares a version column of type %s, and PostgreSQL logs its changes',
    async (versionType) => {
      const mapping = { session: { columns: { version: 'generation' } } }
      const { database, store } = await openWith({ mapping, versionType })
      expect(await store.sessions.findSession(ours)).toMatchObject({ version: 7 })
      expect(await reason(store, { ...ours, version: 7 })).toBe('accepted')
      for (const version of [6, 8]) expect(await reason(store, { ...ours, version })).toBe('TOKEN_INVALID')
      if (!isSqlite) await takeLog(database)
      await database.run('update session set generation = 8')
      if (!isSqlite) expect(await takeLog(database)).toEqual([['s', 'u']])
      expect(await reason(store, { ...ours, version: 7 })).toBe('TOKEN_INVALID')
      await database.run('update session set generation = null')
      expect(await reason(store, { ...ours, version: 8 })).not.toBe('accepted')
    },
  )

  test('belong to this issuer, unless the mapping names another one', async () => {
    const { store } = await openWith({ mapping: {} })
    expect(await reason(store, ours)).toBe('accepted')
    expect(await reason(store, foreign)).toBe('TOKEN_INVALID')
  })

  test('belong to the issuer that the mapping names', async () => {
    const { store } = await openWith({ mapping: { issuer: ISSUER } })
    expect(await store.sessions.findSession(ours)).toMatchObject({ issuer: ISSUER })
    expect(await reason(store, foreign)).toBe('accepted')
    expect(await reason(store, ours)).toBe('TOKEN_INVALID')
    expect(await reason(store, { ...foreign, issuer: 'https://other.example.com' })).toBe('TOKEN_INVALID')
  })
})

import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { TestDatabase } from '../../support/database-kinds.ts'
import { encodings } from '../../support/mapped-tables.ts'
import { inHours, literal, storeSession, takeLog } from '../../support/stored-sessions.ts'

type Change = [name: string, statement: string]

/** SQLite has no log. */
const encoded = (await encodings()).filter(({ kind }) => kind.name === 'PostgreSQL')
const [postgres] = encoded.map(({ kind }) => kind)
if (postgres === undefined) throw new Error('PostgreSQL is tested')

describe.each(encoded)('$name', ({ kind, dates, type, write }) => {
  let database: TestDatabase
  const [soon, later, past, longPast] = [inHours(1), inHours(2), inHours(-1), inHours(-2)].map(write)

  beforeAll(async () => {
    database = await kind.create()
    await database.run(`
      create table "user" (id text primary key, name text, email text, role text, banned boolean default false, "banReason" text,
        "banExpires" ${type});
      create table session (id text primary key, "userId" text references "user" (id) on delete cascade on update cascade,
        "expiresAt" ${type}, "lastAuthenticatedAt" ${type}, "lastSeenAt" ${type})`)
    await database.openStore({ dates })
  })
  beforeEach(async () => {
    await database.run(`
      delete from "user";
      insert into "user" (id, name, role) values ('ada', 'Ada', 'user'), ('eve', 'Eve', 'user');
      insert into session (id, "userId", "expiresAt", "lastAuthenticatedAt") values
        ('live', 'ada', ${soon}, ${past}), ('over', 'ada', ${past}, ${past}), ('other', 'eve', ${soon}, ${past});
      delete from ${database.internal('revocation_log')}`)
  })

  const changes = async (statement: string) => {
    await database.run(statement)
    return takeLog(database)
  }

  test.each([
    ['a session deleted before it expires', `delete from session where id = 'live'`],
    ['expiresAt moved earlier', `update session set "expiresAt" = ${past} where id = 'live'`],
    [
      'expiresAt moved earlier by a second',
      `update session set "expiresAt" = ${write(new Date(inHours(1).getTime() - 2_000))} where id = 'live'`,
    ],
    ['expiresAt lost', `update session set "expiresAt" = null where id = 'live'`],
    ['userId changed', `update session set "userId" = 'eve' where id = 'live'`],
    ['the id of a session changed', `update session set id = 'new' where id = 'live'`],
    [
      'userId changed and renewed',
      `update session set "userId" = 'eve', "expiresAt" = ${later} where id = 'live'`,
    ],
  ] satisfies Change[])('logs the session: %s', async (_name, statement) => {
    expect(await changes(statement)).toEqual([['live', 'ada']])
  })

  test.each([
    ['banned', `update "user" set banned = true where id = 'ada'`],
    ['banned set to null', `update "user" set banned = null where id = 'ada'`],
    ['banExpires set', `update "user" set "banExpires" = ${later} where id = 'ada'`],
    ['role changed', `update "user" set role = 'admin' where id = 'ada'`],
    ['role set to null', `update "user" set role = null where id = 'ada'`],
    [
      'several columns of a user changed',
      `update "user" set banned = true, role = 'x', name = 'y' where id = 'ada'`,
    ],
  ] satisfies Change[])('logs the user: %s', async (_name, statement) => {
    expect(await changes(statement)).toEqual([[null, 'ada']])
  })

  test('logs the user if banExpires moves in either direction or is set to null', async () => {
    await changes(`update "user" set "banExpires" = ${later} where id = 'ada'`)
    for (const value of [soon, later, 'null'])
      expect(await changes(`update "user" set "banExpires" = ${value} where id = 'ada'`)).toEqual([
        [null, 'ada'],
      ])
  })

  test('logs a deleted user and each of their sessions', async () => {
    const log = await changes(`delete from "user" where id = 'ada'`)
    expect(log).toHaveLength(2)
    expect(log).toEqual(
      expect.arrayContaining([
        ['live', 'ada'],
        [null, 'ada'],
      ]),
    )
  })

  test('logs the user and each of their sessions if the id of the user changes', async () => {
    const log = await changes(`update "user" set id = 'new' where id = 'ada'`)
    expect(log).toHaveLength(3)
    expect(log).toEqual(
      expect.arrayContaining([
        ['live', 'ada'],
        ['over', 'ada'],
        [null, 'ada'],
      ]),
    )
  })

  test('logs each session if all are deleted at once', async () => {
    expect((await changes('delete from session')).sort()).toEqual([
      ['live', 'ada'],
      ['other', 'eve'],
    ])
  })

  test.each([
    ['a renewal', `update session set "expiresAt" = ${later} where id = 'live'`],
    ['an expired session extended', `update session set "expiresAt" = ${soon} where id = 'over'`],
    ['pruning', `delete from session where id = 'over'`],
    ['lastSeenAt', `update session set "lastSeenAt" = ${later} where id = 'live'`],
    ['the same values written again', `update session set "expiresAt" = "expiresAt", "userId" = "userId"`],
    ['a sign-in', `insert into session (id, "userId", "expiresAt") values ('new', 'ada', ${soon})`],
    ['a sign-up', `insert into "user" (id, name) values ('new', 'New')`],
    ['name and email changed', `update "user" set name = 'A', email = 'a@example.com', "banReason" = 'x'`],
    [
      'a user written with the same values',
      `update "user" set role = 'user', banned = false, "banExpires" = null`,
    ],
    ['nothing deleted', `delete from session where id = 'none'`],
  ] satisfies Change[])('logs nothing: %s', async (_name, statement) => {
    expect(await changes(statement)).toEqual([])
  })

  test('logs nothing for a change that is rolled back', async () => {
    const undone = `begin; delete from session; update "user" set banned = true; delete from "user"; rollback`
    expect(await changes(undone)).toEqual([])
  })

  test('logs the deletion of a session that was extended after it expired', async () => {
    await changes(`update session set "expiresAt" = ${soon} where id = 'over'`)
    expect(await changes(`delete from session where id = 'over'`)).toEqual([['over', 'ada']])
    await changes(`update session set "expiresAt" = ${longPast} where id = 'live'`)
    expect(await changes(`delete from session where id = 'live'`)).toEqual([])
  })
})

describe('our own tables', () => {
  const { create } = postgres

  test('logs manual changes, each in the transaction of the change', async () => {
    const database = await create()
    await database.open()
    const ada = await storeSession(database)
    const over = await storeSession(database, { expiresAt: inHours(-1) })
    expect(await takeLog(database)).toEqual([])
    const statements = [
      `update session set "expiresAt" = ${literal(inHours(9).toISOString())} where id = ${literal(ada.sessionId)}`,
      `update session set "expiresAt" = ${literal(inHours(8).toISOString())} where id = ${literal(ada.sessionId)}`,
      `delete from session where id = ${literal(over.sessionId)}`,
      `update session set version = version + 1 where id = ${literal(ada.sessionId)}`,
      `update session set issuer = 'https://id.example.com' where id = ${literal(ada.sessionId)}`,
      `update session set "provedVersion" = 9 where id = ${literal(ada.sessionId)}`,
      `update "user" set name = 'Eve' where id = ${literal(ada.userId)}`,
      `update "user" set banned = true where id = ${literal(ada.userId)}`,
      `delete from session where id = ${literal(ada.sessionId)}`,
    ]
    for (const statement of statements) {
      await database.run(`begin; ${statement}; rollback`)
      await database.run(statement)
    }
    const [session, user] = [
      [ada.sessionId, ada.userId],
      [null, ada.userId],
    ]
    // Moved earlier; the version; the issuer; banned; deleted.
    expect(await takeLog(database)).toEqual([session, session, session, user, session])
  })

  test('never reuses a number, and records the time', async () => {
    const database = await create()
    await database.open()
    const entry = async () => {
      const { sessionId } = await storeSession(database)
      await database.run(`delete from session where id = ${literal(sessionId)}`)
      const [{ seq, at } = {}] = await database.rows(
        `select seq, at from ${database.internal('revocation_log')}`,
      )
      await takeLog(database)
      return { seq: Number(seq), ageMs: Date.now() - new Date(at as string | Date).getTime() }
    }
    const [first, second] = [await entry(), await entry()]
    expect(second.seq).toBeGreaterThan(first.seq)
    for (const { ageMs } of [first, second]) expect(Math.abs(ageMs)).toBeLessThan(60_000)
  })
})

describe('PostgreSQL', () => {
  const { create } = postgres
  let database: TestDatabase
  let ada: { sessionId: string; userId: string }
  beforeAll(async () => {
    database = await create()
    await database.open()
  })
  beforeEach(async () => {
    ada = await storeSession(database)
    await takeLog(database)
  })

  test.each([
    ['truncate session', [[null, null]]],
    [
      'truncate "user" cascade',
      [
        [null, null],
        [null, null],
      ],
    ],
    ['truncate account', []],
  ])('logs a change for everyone if the tables have sessions or users: %s', async (statement, log) => {
    await database.run(statement)
    expect(await takeLog(database)).toEqual(log)
  })

  test('logs changes by a role that may change sessions but not write the log', async () => {
    await database.run('create role app; grant select, update, delete on session, "user" to app')
    for (const statement of [
      'insert into sallyport.revocation_log default values',
      'select * from sallyport.revocation_log',
    ])
      await expect(database.run(`set local role app; ${statement}`)).rejects.toThrow('permission denied')
    await database.run(`
      set local role app;
      update "user" set banned = true where id = ${literal(ada.userId)};
      delete from session where id = ${literal(ada.sessionId)}`)
    expect(await takeLog(database)).toEqual([
      [null, ada.userId],
      [ada.sessionId, ada.userId],
    ])
  })

  test('writes to the real log, even if a temporary table has its name', async () => {
    await database.run(`create temporary table revocation_log (like sallyport.revocation_log including all)`)
    try {
      await database.run(`delete from session where id = ${literal(ada.sessionId)}`)
    } finally {
      await database.run('drop table pg_temp.revocation_log')
    }
    expect(await takeLog(database)).toEqual([[ada.sessionId, ada.userId]])
  })

  test('logs changes made with another search_path', async () => {
    const { sessionId } = ada
    await database.run(
      `set search_path to pg_catalog; delete from public.session where id = ${literal(sessionId)}; reset search_path`,
    )
    expect(await takeLog(database)).toEqual([[sessionId, ada.userId]])
  })
})

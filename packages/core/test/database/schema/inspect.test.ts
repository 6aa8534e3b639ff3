import type { AddedColumns } from '@sallyport/core/auth'
import { openPostgres, type StoreMapping } from '@sallyport/core/postgres'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectedOfDatabase, expectedOfStore } from '../../../src/database/schema/expected.ts'
import { inspect } from '../../../src/database/schema/inspect.ts'
import { postgresTypes, sqliteTypes } from '../../../src/database/schema/migrations.ts'
import { watchDatabase } from '../../../src/database/watch-database.ts'
import { closeLater, databaseKinds, type TestDatabase } from '../../support/database-kinds.ts'
import { eventually } from '../../support/eventually.ts'
import { PATIENT } from '../../support/postgres.ts'

const SESSION_TRIGGERS = ['changed', 'deleted', 'truncated'].map((event) => `sallyport_session_${event}`)

const columns: AddedColumns = { user: { locale: { type: 'text' } }, session: {} }
const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
afterEach(() => void warn.mockReset())

/** Another test file in the process may have loaded another copy of SQLite. */
const warnings = () =>
  warn.mock.calls
    .flat()
    .filter((text) => !String(text).includes('has loaded'))
    .join('\n')

const kinds = await databaseKinds({}, { poolSize: 2 })

describe.each(kinds)('the inspection in $name', (kind) => {
  const isSqlite = kind.name === 'SQLite'
  const internal = isSqlite ? 'sallyport_audit' : 'sallyport.audit'
  const trigger = 'sallyport_session_changed'
  const dropTrigger = `drop trigger ${trigger} on session`

  async function open(database: TestDatabase) {
    const { db, types } = await database.open()
    const expected = expectedOfDatabase(types, { migrates: true })
    return { db, inspect: () => inspect(db, expected) }
  }

  test('finds nothing in a new database', async () => {
    const opened = await open(await kind.create())
    expect(await opened.inspect()).toEqual([])
    expect(warnings()).toBe('')
  })

  test.each([
    { dropped: 'a table of users', sql: 'drop table account', problem: 'The table account is missing.' },
    {
      dropped: 'a column',
      sql: 'alter table session drop column "lastSeenAt"',
      problem: 'The column session.lastSeenAt is missing.',
    },
    {
      dropped: 'an internal table',
      sql: `drop table ${internal}`,
      problem: `The table ${internal} is missing.`,
    },
    ...(isSqlite
      ? []
      : [
          {
            dropped: 'a trigger',
            sql: dropTrigger,
            problem: `The trigger ${trigger} on session is missing.`,
          },
        ]),
  ])('reports that $dropped was dropped', async ({ sql, problem }) => {
    const database = await kind.create()
    const opened = await open(database)
    await database.run(sql)
    expect(await opened.inspect()).toEqual([{ problem, fix: expect.stringMatching(/migrat/) }])
  })

  test('a dropped trigger and a dropped internal table are created again at the next start', async () => {
    const database = await kind.create()
    await (await database.open()).close()
    if (!isSqlite) await database.run(dropTrigger)
    await database.run(`drop table ${internal}`)
    const opened = await open(database)
    expect(await opened.inspect()).toEqual([])
    expect(warnings()).toBe('')
  })

  test('warns at the start about a dropped column', async () => {
    const database = await kind.create()
    await (await database.open()).close()
    await database.run('alter table "user" drop column image')
    await database.open()
    expect(warnings()).toMatch(/^sallyport: The column user\.image is missing\. Restart/)
  })

  test('with migrate: false, one error names every missing table and column', async () => {
    const database = await kind.create()
    await (await database.open()).close()
    await database.run('alter table session drop column "provedVersion"')
    await database.run('drop table account')
    await expect(database.open({ columns, migrate: false })).rejects.toThrow(
      'Missing in the database: column user.locale, column session.provedVersion, table account. Run "sallyport generate --schema drizzle" (or prisma, or sql), then your migration tool.',
    )
  })

  test('with migrate: false, nothing is created in an empty database', async () => {
    const database = await kind.create()
    await expect(database.open({ migrate: false })).rejects.toThrow(
      'table user, table session, table account',
    )
    const tables = isSqlite
      ? 'select name from sqlite_schema'
      : `select table_name from information_schema.tables where table_schema in ('public', 'sallyport')`
    expect(await database.rows(tables)).toEqual([])
  })

  test('finds what a mapped store needs by the names of the mapping', async () => {
    const database = await kind.create()
    const date = isSqlite ? 'text' : 'timestamptz'
    await database.run('create table users (id text primary key, full_name text, email text)')
    await database.run(`create table sessions (id text primary key, user_id text, expires ${date})`)
    const mapping: StoreMapping = {
      session: {
        table: 'sessions',
        columns: { userId: 'user_id', expiresAt: 'expires', lastAuthenticatedAt: null },
      },
      user: { table: 'users', columns: { name: 'full_name', role: null, banned: null, banExpires: null } },
    }
    await database.openStore(mapping)
    const { db, types } = await database.open()
    const expected = expectedOfStore(types, { mapping })
    expect(await inspect(db, expected)).toEqual([])
    await database.run('alter table users drop column full_name')
    await database.run('drop table sessions')
    expect((await inspect(db, expected)).map(({ problem }) => problem)).toEqual([
      'The table sessions is missing.',
      'The column users.full_name is missing.',
    ])
  })
})

describe('the inspection of functions in PostgreSQL', () => {
  const internal = postgresTypes('auth_internal')
  const expected = expectedOfDatabase(internal, { migrates: true })

  const SESSION = SESSION_TRIGGERS.map((name) => name.replace('sallyport', 'auth_internal'))
  const rename = `do $$ declare found text; begin
        select p.proname into found from pg_trigger t join pg_proc p on p.oid = t.tgfoid
          where t.tgname = 'auth_internal_session_changed';
        execute format('alter function auth_internal.%I rename to log_revocation_older', found);
        update pg_proc set prosrc = prosrc || '-- older' where proname = 'log_revocation_older';
      end $$`

  test.each([
    {
      fault: 'outdated',
      sql: rename,
      problems: SESSION.map((name) => `The function of the trigger ${name} on session is outdated.`),
    },
    {
      fault: 'missing',
      sql: `${rename}; drop function auth_internal.log_revocation_older() cascade`,
      problems: SESSION.map((name) => `The trigger ${name} on session is missing.`),
    },
  ])('a function that is $fault is reported, and repaired at the start', async ({ sql, problems }) => {
    const { url, run } = await kinds[1].create()
    const open = async () => closeLater(await openPostgres(url, { ...PATIENT, schema: 'auth_internal' }))
    const { db } = await open()
    expect(await inspect(db, expected)).toEqual([])
    await run(sql)
    const fix = expect.stringMatching(/sallyport migrate --schema auth_internal/)
    expect(await inspect(db, expected)).toEqual(problems.map((problem) => ({ problem, fix })))
    await open()
    expect(await inspect(db, expected)).toEqual([])
  })

  test('a trigger that does not fire is reported as missing', async () => {
    const { url, run } = await kinds[1].create()
    const { db } = closeLater(await openPostgres(url, { ...PATIENT, schema: 'auth_internal' }))
    await run('alter table session enable replica trigger auth_internal_session_changed')
    expect(await inspect(db, expected)).toMatchObject([
      { problem: 'The trigger auth_internal_session_changed on session is missing.' },
    ])
  })
})

test('finds added columns under the names of a mapping, and others under their own', () => {
  const mapping = { user: { columns: { locale: 'user_locale' } } }
  const added: AddedColumns = { ...columns, session: { tenantId: { type: 'text' } } }
  const { tables } = expectedOfStore(sqliteTypes, { mapping, columns: added })
  expect(tables.user).toContain('user_locale')
  expect(tables.user).not.toContain('locale')
  expect(tables.session).toContain('tenantId')
})

describe('a generated column of a SQLite file is present', () => {
  test('in a mapped table', async () => {
    const mapped = await kinds[0].create()
    await mapped.run(`
      create table "user" (id text primary key, name text, email text as (id || '@'));
      create table session (id text primary key, "userId" text, "expiresAt" text)`)
    await mapped.openStore({
      session: { columns: { lastAuthenticatedAt: null } },
      user: { columns: { role: null, banned: null, banExpires: null } },
    })
    expect(warnings()).not.toContain('is missing')
  })

  test('in a table that is adopted', async () => {
    const { run, open } = await kinds[0].create()
    await (await open()).close()
    await run(`
      alter table account drop column password;
      alter table account add column password text as (id || 'x');
      drop table sallyport_migration`)
    await open()
    expect(warnings()).toBe('')
  })
})

test('reports a file whose readers wait for a writer', async () => {
  const mapped = await kinds[0].create()
  await mapped.run('pragma journal_mode = delete')
  await mapped.run('create table users (id text primary key, name text, email text)')
  await mapped.run('create table sessions (id text primary key, user_id text, expires text)')
  await mapped.openStore({
    session: {
      table: 'sessions',
      columns: { userId: 'user_id', expiresAt: 'expires', lastAuthenticatedAt: null },
    },
    user: { table: 'users', columns: { role: null, banned: null, banExpires: null } },
  })
  expect(warnings()).toMatch(/The journal mode is delete, .* Run "pragma journal_mode = wal" once/)
  expect(await mapped.rows('pragma journal_mode')).toEqual([{ journal_mode: 'delete' }])
})

describe('the check at the start and every hour', () => {
  const problem = (name: string) => ({ problem: `The ${name} is missing.`, fix: 'Restore it.' })

  test('repairs what is ours, and warns once about what remains', async () => {
    // The trigger is one that another process is about to create.
    const found = [problem('column'), problem('trigger')]
    let repairs = 0
    let inspections = 0
    const stop = await watchDatabase(
      {
        inspect: async () => {
          inspections++
          return [...found]
        },
        repair: async () => {
          repairs++
          found.splice(0, found.length, problem('column'))
        },
      },
      1,
    )
    expect(warnings()).toBe('sallyport: The column is missing. Restore it.')
    expect(repairs).toBe(1)
    found.push(problem('trigger'))
    await eventually(() => expect(repairs).toBe(2))
    const before = inspections
    await eventually(() => expect(inspections).toBeGreaterThan(before + 3))
    expect(repairs).toBe(2)
    expect(warn).toHaveBeenCalledTimes(1)
    stop()
  })

  test('a failed inspection is tried again, and a failed repair is reported as the problem', async () => {
    let isDown = true
    const stop = await watchDatabase(
      {
        inspect: async () => {
          if (isDown) throw new Error('no connection')
          return [problem('trigger')]
        },
        repair: () => Promise.reject(new Error('no right')),
      },
      1,
    )
    expect(warnings()).toBe('')
    isDown = false
    await eventually(() => expect(warnings()).toMatch(/The trigger is missing/))
    stop()
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigurationError } from '@sallyport/core'
import type { AddedColumns } from '@sallyport/core/auth'
import { openPostgres, openPostgresStore, type StoreMapping } from '@sallyport/core/postgres'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type OpenStore, postgresKind, type TestDatabase } from '../../support/database-kinds.ts'
import { PATIENT, testPostgres } from '../../support/postgres.ts'
import { inHours, literal, takeLog } from '../../support/stored-sessions.ts'
import { until } from '../../support/until.ts'

// A small pool, because each connection costs time, and each test opens a store.
const kind = postgresKind(await testPostgres(), { poolSize: 2 })
const MAPPING: StoreMapping = {
  session: { columns: { lastAuthenticatedAt: null, version: 'version' } },
  user: { columns: { name: null, email: null } },
}
const soon = literal(inHours(1).toISOString())
const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
afterAll(() => warn.mockRestore())

let database: TestDatabase
let store: OpenStore

const TABLES = `
  create table "user" (id text primary key, role text, banned boolean, "banExpires" timestamptz);
  create table session (id text primary key, "userId" text, "expiresAt" timestamptz, version integer default 1);`

/** An app's own tables, with a session of each user that a test ends. */
function useHost() {
  beforeEach(async () => {
    database = await kind.create()
    await database.run(`${TABLES}
      insert into "user" (id) values ('ada'), ('eve');
      insert into session (id, "userId", "expiresAt") values ('s1', 'ada', ${soon}), ('s2', 'eve', ${soon})`)
    store = await database.openStore(MAPPING)
    // The node listens now. Without the log, it can't read what was notified before.
    await isReceived(`update "user" set role = 'user'`)
  })

  afterEach(() => store.close())
}

/** Waits until a node receives what the statements change. */
async function isReceived(statements: string, session = { sessionId: 's1', userId: 'ada' }) {
  const listener = vi.fn<() => void>()
  onTestFinished(store.revocations.subscribe(session, listener))
  await database.run(statements)
  await until(() => listener.mock.calls.length > 0)
}

describe('a migration of the app', () => {
  useHost()

  test.each([
    ['changes the type of the id', 'alter table session alter column id type varchar(80)'],
    ['changes the type of userId', 'alter table session alter column "userId" type varchar(80)'],
    ['changes the type of the expiry', 'alter table session alter column "expiresAt" type timestamp'],
    ['changes the type of version', 'alter table session alter column version type bigint'],
    ['changes the type of banned', 'alter table "user" alter column banned type integer using 0'],
    ['changes the type of role', 'alter table "user" alter column role type varchar(9)'],
    ['renames userId', 'alter table session rename column "userId" to user_id'],
    ['renames the expiry', 'alter table session rename column "expiresAt" to expires_at'],
    ['renames the table', 'alter table session rename to sessions'],
    ['drops the expiry', 'alter table session drop column "expiresAt"'],
    ['drops version', 'alter table session drop column version'],
    ['drops role', 'alter table "user" drop column role'],
    ['turns the expiry into text', `alter table session alter column "expiresAt" type text using 'never'`],
  ])('%s, and rows can still change and be deleted', async (_name, statement) => {
    await database.run(statement)
    const table = statement.includes('rename to sessions') ? 'sessions' : 'session'
    await database.run(
      `update "user" set id = id; update ${table} set id = id; insert into ${table} (id) values ('s3')`,
    )
    await isReceived(`delete from ${table}; delete from "user"`)
  })

  test.each([
    ['a missing column', 'alter table session drop column version'],
    ['an invalid date', `alter table session alter column "expiresAt" type text using 'never'`],
  ])('logs a change for everyone if rows can not be compared: %s', async (_name, statement) => {
    await database.run(statement)
    await takeLog(database)
    await database.run(`update session set "expiresAt" = null where id = 's2'`)
    expect(await takeLog(database)).toEqual([[null, null]])
  })

  test('may give a compared column a type without an equality', async () => {
    await database.run('alter table "user" alter column role type json using to_json(role)')
    await takeLog(database)
    await database.run('update "user" set banned = banned')
    expect(await takeLog(database)).toEqual([])
    await database.run(`update "user" set role = '["admin"]' where id = 'ada'`)
    expect(await takeLog(database)).toEqual([[null, 'ada']])
  })
})

describe('a statement of many rows', () => {
  useHost()

  const insert = (count: number) =>
    database.run(`insert into session (id, "userId", "expiresAt")
      select 'n' || n, 'u' || n, now() + interval '1 day' from generate_series(1, ${count}) n`)

  test('logs only the sessions that it ends', async () => {
    await insert(5)
    await takeLog(database)
    await database.run(`update session set
      version = case id when 'n1' then 2 else version end,
      "userId" = case id when 'n2' then 'u1' else "userId" end,
      "expiresAt" = "expiresAt" + case id when 'n3' then -1 else 1 end * interval '1 hour',
      id = case id when 'n4' then 'new' else id end`)
    expect((await takeLog(database)).sort()).toEqual([
      ['n1', 'u1'],
      ['n2', 'u2'],
      ['n3', 'u3'],
      ['n4', 'u4'],
    ])
  })

  test('ends sessions also through an upsert, a merge, and a common table expression', async () => {
    await insert(3)
    await database.run(`
      insert into session (id, "userId") values ('n1', 'u1') on conflict (id) do update set version = 2;
      merge into session using (values ('n2')) as given (name) on id = name when matched then delete;
      with deleted as (delete from session where id = 'n3' returning id)
        update session set version = 3 where id = 'n1' and exists (select from deleted)`)
    expect(await takeLog(database)).toEqual([
      [null, 'ada'],
      [null, 'eve'],
      ['n1', 'u1'],
      ['n2', 'u2'],
      ['n1', 'u1'],
      ['n3', 'u3'],
    ])
  })

  test('counts as a change for everyone if it ends more than 100,000 sessions', async () => {
    await insert(100_001)
    await takeLog(database)
    await isReceived(`delete from session where id like 'n%'`)
    expect(await takeLog(database)).toEqual([[null, null]])
  })
})

describe('a table that shares its rows with another', () => {
  const columns = `id text, "userId" text, "expiresAt" timestamptz, version integer`
  const rows = `('live', 'ada', ${soon}, 1), ('moved', 'ada', ${soon}, 1), ('kept', 'eve', ${soon}, 1)`

  test.each([
    ['a partitioned table', 'partitioned', 'first'],
    ['a partition', 'first', 'partitioned'],
    ['an inheriting table', 'child', 'parent'],
  ])('logs the changes of statements on either: %s', async (_name, table, other) => {
    const app = await kind.create()
    await app.run(`
      create table "user" (id text primary key, role text, banned boolean, "banExpires" timestamptz);
      create table partitioned (${columns}) partition by list (id);
      create table first partition of partitioned default;
      create table parent (${columns});
      create table child () inherits (parent);
      insert into ${table} values ${rows}`)
    const mapping = { ...MAPPING, session: { ...MAPPING.session, table } }
    await app.openStore(mapping)
    for (const changed of [table, other]) {
      await app.run(`update ${changed} set version = version + 1 where id = 'moved';
        update ${changed} set "expiresAt" = "expiresAt" + interval '1 day'`)
      expect(await takeLog(app)).toEqual([['moved', 'ada']])
    }
    await app.run(`delete from ${other} where id = 'live'; delete from ${table} where id = 'kept'`)
    expect(await takeLog(app)).toEqual([
      ['live', 'ada'],
      ['kept', 'eve'],
    ])
  })
})

test('a watched table can become a partition of the table that replaces it', async () => {
  const app = await kind.create()
  await app.run(TABLES)
  await app.openStore(MAPPING)
  await app.run(`
    alter table session rename to first;
    create table session (like first) partition by list (id)`)
  warn.mockClear()
  await app.openStore(MAPPING)
  expect(warn).not.toHaveBeenCalled()
  await app.run('alter table session attach partition first default')
  await app.run(`insert into session values ('live', 'ada', ${soon}); delete from session`)
  expect(await takeLog(app)).toEqual([['live', 'ada']])
})

describe('without our tables', () => {
  useHost()

  const writes = `
    insert into "user" (id) values ('new'); insert into session values ('s3', 'new', ${soon});
    update "user" set banned = true where id = 'eve'; delete from session where id = 's1'`

  test.each([
    ['the log was dropped', 'drop table sallyport.revocation_log'],
    ['all tables were dropped', 'drop table sallyport.revocation_log, sallyport.rate_limit, sallyport.audit'],
    [
      'the log rejects rows',
      'alter table sallyport.revocation_log add constraint never check (false) not valid',
    ],
  ])('sessions can be deleted and the nodes receive it: %s', async (_name, statement) => {
    await database.run(statement)
    await isReceived(writes)
  })

  test('sessions can be deleted while the log is locked, and the nodes receive it', async () => {
    await database.run('create extension if not exists dblink')
    await database.run(`select dblink_connect('locker', ${literal(database.url)});
      select dblink_exec('locker', 'begin; lock table sallyport.revocation_log in access exclusive mode')`)
    await isReceived(writes)
    await database.run(`select dblink_exec('locker', 'rollback')`)
  })

  test('sessions can be deleted after the whole schema was dropped', async () => {
    await database.run('drop schema sallyport cascade')
    await database.run(writes)
    const again = await database.openStore(MAPPING)
    await database.run(`delete from session where id = 's2'`)
    expect(await takeLog(database)).toEqual([['s2', 'eve']])
    await again.close()
  })
})

describe('the role of the app', () => {
  useHost()

  test('needs no rights on our schema: the nodes receive its changes', async () => {
    await database.run(`create role host_app; grant select, delete, update on session, "user" to host_app`)
    for (const statement of [
      'select from sallyport.revocation_log',
      'insert into sallyport.revocation_log default values',
    ])
      await expect(database.run(`set local role host_app; ${statement}`)).rejects.toThrow('permission denied')
    await isReceived(`set local role host_app; delete from session where id = 's1'`)
    await isReceived(`set local role host_app; update "user" set role = 'x' where id = 'eve'`, {
      sessionId: 's2',
      userId: 'eve',
    })
    await database.run('drop owned by host_app; drop role host_app')
  })

  test('changes nothing by its search_path, its temporary tables, or its settings', async () => {
    await database.run(`
      create schema evil;
      create table evil.revocation_log (like sallyport.revocation_log);
      create function evil.to_jsonb(anyelement) returns jsonb language sql as 'select null::jsonb';
      create function evil.pg_notify(text, text) returns void language sql as 'select null';
      create function evil.unnest(text[]) returns setof text language sql as 'select null'`)
    await isReceived(`
      set search_path = evil, public, pg_catalog; set timezone = 'Pacific/Auckland';
      set standard_conforming_strings = off; set datestyle = 'SQL, DMY'; set plpgsql.variable_conflict = use_column;
      create temporary table revocation_log (like sallyport.revocation_log);
      create temporary table old_rows (id text, "userId" text, "expiresAt" timestamptz);
      delete from public.session where id = 's1'`)
    await database.run('discard all')
    expect(await takeLog(database)).toContainEqual(['s1', 'ada'])
    expect(await database.rows('select * from evil.revocation_log')).toEqual([])
  })

  test('never runs code of its own with our rights, such as a cast of its own type', async () => {
    // A sequence remembers calls that are rolled back.
    await database.run('create sequence calls; create type pair as (one text)')
    for (const target of ['text', 'json', 'jsonb', 'timestamptz', 'numeric'])
      await database.run(`
        create function spy_${target}(pair) returns ${target} language plpgsql as
          $$ begin perform nextval('public.calls'); return null; end $$;
        create cast (pair as ${target}) with function spy_${target}(pair) as implicit`)
    for (const column of ['id', '"userId"', '"expiresAt"', 'version'])
      await database.run(`
        alter table session drop constraint if exists session_pkey;
        alter table session alter column ${column} drop default;
        alter table session alter column ${column} type pair using row('x')::pair`)
    await isReceived(`update session set version = row('y')::pair; delete from session`)
    expect(await database.rows('select is_called from calls')).toEqual([{ is_called: false }])
  })
})

describe('installing', () => {
  useHost()

  const triggers = () =>
    database.rows(
      'select pg_get_triggerdef(oid), tgenabled from pg_trigger where not tgisinternal order by tgname',
    )

  test('changes nothing and waits for no lock when all is up to date', async () => {
    const before = await database.rows(
      'select xmin::text, oid::text from pg_trigger union all select xmin::text, oid::text from pg_proc',
    )
    const { url } = database
    const locker = await kind.create()
    await locker.run('create extension dblink')
    await locker.run(`select dblink_connect('locker', ${literal(url)});
      select dblink_exec('locker', 'begin; lock table session, "user" in share update exclusive mode')`)
    await (await database.openStore(MAPPING)).close()
    await locker.run(`select dblink_exec('locker', 'rollback')`)
    expect(
      await database.rows(
        'select xmin::text, oid::text from pg_trigger union all select xmin::text, oid::text from pg_proc',
      ),
    ).toEqual(before)
  })

  test.each([
    ['a trigger', 'drop trigger sallyport_session_deleted on session'],
    ['an enabled trigger', 'alter table session disable trigger sallyport_session_deleted'],
    [
      'a trigger that an earlier version changed',
      `create function sallyport.log_revocation() returns trigger language plpgsql as 'begin return null; end';
      create or replace trigger sallyport_session_changed after update or delete on session
      for each row execute function sallyport.log_revocation('id');
      drop trigger sallyport_session_deleted on session`,
    ],
    ['the log', 'drop table sallyport.revocation_log'],
    ['the schema', 'drop schema sallyport cascade'],
  ])('at the next start restores %s', async (_name, statement) => {
    const installed = await triggers()
    await database.run(statement)
    await database.openStore(MAPPING)
    await database.run(`delete from session where id = 's1'`)
    await database.run(`update session set version = 2 where id = 's2'`)
    const log = await takeLog(database)
    expect(log.slice(-2)).toEqual([
      ['s1', 'ada'],
      ['s2', 'eve'],
    ])
    expect(await triggers()).toEqual(installed)
  })
})

test('installing waits for a long transaction only briefly, and other transactions go on', async () => {
  const app = await kind.create()
  await app.run(`${TABLES} create extension dblink`)
  await app.run(`select dblink_connect('long', ${literal(app.url)});
    select dblink_exec('long', 'begin; insert into session (id) values (1)')`)
  warn.mockClear()
  const opening = app.openStore(MAPPING)
  let isOpen = false
  void opening.then(() => {
    isOpen = true
  })
  for (let writes = 0; !isOpen; writes++) {
    await app.run(`set local lock_timeout = '4s'; insert into session (id) values ('w${writes}')`)
    await sleep(50)
  }
  expect(warn.mock.calls.map(([text]) => String(text))).toContainEqual(
    expect.stringContaining('A long transaction blocks the triggers'),
  )
  await app.run(`select dblink_exec('long', 'commit')`)
  await (await app.openStore(MAPPING)).close()
  await app.run(`delete from session where id = '1'`)
  expect(await takeLog(app)).toEqual([['1', null]])
})

describe('without the rights to create our schema', () => {
  /** Creates a role that may only use the app's tables, and returns its URL. */
  async function createRole(name: string, privileges: string): Promise<{ url: string; app: TestDatabase }> {
    const app = await kind.create()
    await app.run(`${TABLES}
      insert into "user" (id) values ('ada'); insert into session values ('s1', 'ada', ${soon});
      create role ${name} login password 'secret';
      grant ${privileges} on session, "user" to ${name}`)
    const url = new URL(app.url)
    url.username = name
    url.password = 'secret'
    return { url: url.href, app }
  }

  test('a store runs on leases, counts in memory, and names the grants', async () => {
    const { url, app } = await createRole('guest_app', 'select, update, delete')
    warn.mockClear()
    const guest = await openPostgresStore(url, { ...PATIENT, mapping: MAPPING })
    const [{ name } = {}] = await app.rows('select current_database() as name')
    const messages = warn.mock.calls.map(([text]) => String(text)).filter((text) => text.includes('grant'))
    expect(messages).toHaveLength(1)
    expect(messages[0]).toContain(`grant create on database ${name} to guest_app`)
    expect(messages[0]).toContain('grant trigger on "session" to guest_app')
    expect(await guest.sessions.findSession({ sessionId: 's1', userId: 'ada' })).toMatchObject({ id: 's1' })
    const limit = { points: 1, duration: 60 }
    expect([await guest.limits?.consume('k', limit), await guest.limits?.consume('k', limit)]).toEqual([
      null,
      60,
    ])
    await guest.close()

    // The statements in the message are enough.
    for (const statement of messages[0]?.match(/grant [^;]+/g) ?? []) await app.run(statement)
    warn.mockClear()
    const host = await openPostgresStore(url, { ...PATIENT, mapping: MAPPING })
    onTestFinished(host.close)
    expect(warn.mock.calls.filter(([text]) => String(text).includes('grant'))).toEqual([])
    await app.run(`delete from session where id = 's1'`)
    expect(await takeLog(app)).toEqual([['s1', 'ada']])
  })

  test('a database of ours is rejected with the grant it needs', async () => {
    const { url, app } = await createRole('guest_own', 'select')
    const opening = openPostgres(url, PATIENT)
    await expect(opening).rejects.toThrow(ConfigurationError)
    const [{ name } = {}] = await app.rows('select current_database() as name')
    await expect(opening).rejects.toThrow(`grant create on database ${name} to guest_own`)
  })

  test('a database of ours names the grants on the schema of the app, and tables of another owner', async () => {
    const app = await kind.create()
    const [{ name } = {}] = await app.rows('select current_database() as name')
    await app.run(`create role other; create role guest_tables login password 'secret'`)
    const url = new URL(app.url)
    url.username = 'guest_tables'
    url.password = 'secret'
    const missing = async (session: AddedColumns['session'] = {}) => {
      const opening = openPostgres(url.href, { ...PATIENT, columns: { user: {}, session } }).then(
        (database) => database.close(),
      )
      const error = await opening.catch((error: unknown) => error)
      const statements =
        error instanceof ConfigurationError ? error.message.match(/(grant|alter) [^;]+/g) : null
      return statements ?? error ?? []
    }
    const grants = [
      `grant create on database ${name} to guest_tables`,
      'grant create on schema public to guest_tables',
    ]
    expect(await missing()).toEqual(grants)
    for (const grant of grants) await app.run(grant)
    expect(await missing()).toEqual([])
    await app.run('alter table session owner to other')
    const added = { team: { type: 'text' } } as const
    expect(await missing(added)).toEqual(['alter table "session" owner to guest_tables'])
    await app.run('alter table "session" owner to guest_tables')
    expect(await missing(added)).toEqual([])
  })

  test('a role that only lacks the rights to use what another role has migrated is not told to own it', async () => {
    const app = await kind.create()
    await (await openPostgres(app.url, PATIENT)).close()
    await app.run(`create role guest_migrated login password 'secret';
      grant select, insert, update, delete on all tables in schema public to guest_migrated`)
    const url = new URL(app.url)
    url.username = 'guest_migrated'
    url.password = 'secret'
    const grants = [
      'grant usage on schema sallyport to guest_migrated',
      'grant select, insert, update, delete on all tables in schema sallyport to guest_migrated',
    ]
    const opening = openPostgres(url.href, PATIENT)
    await expect(opening).rejects.toThrow(`Run: ${grants.join('; ')};`)
    for (const grant of grants) await app.run(grant)
    await (await openPostgres(url.href, PATIENT)).close()
  })
})

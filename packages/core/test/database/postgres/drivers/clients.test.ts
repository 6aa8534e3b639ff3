import { neon } from '@neondatabase/serverless'
import { ConfigurationError, type SessionKey } from '@sallyport/core'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { openPostgres, openPostgresStore } from '@sallyport/core/postgres'
import { sql } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { migratePlugins } from '../../../../src/database/schema/prepare-tables.ts'
import { failureCode } from '../../../../src/events/failure-code.ts'
import { postgresKind } from '../../../support/database-kinds.ts'
import { demote } from '../../../support/demote.ts'
import { startPostgres } from '../../../support/embedded-postgres.ts'
import { eventually } from '../../../support/eventually.ts'
import { startNeonHttpStub } from '../../../support/neon-http-stub.ts'
import { PGBOUNCER, startPgBouncer } from '../../../support/pgbouncer.ts'
import { createPglite } from '../../../support/pglite.ts'
import { PATIENT, testPostgres } from '../../../support/postgres.ts'
import { POSTGRES_CLIENTS } from '../../../support/postgres-clients.ts'
import { reasonOf } from '../../../support/reason-of.ts'
import { literal, storeSession } from '../../../support/stored-sessions.ts'
import { until } from '../../../support/until.ts'

const server = await testPostgres()
const { create } = postgresKind(server)

const database = await create()
await (await database.open()).close()
let ada: SessionKey
beforeEach(async () => {
  ada = await storeSession(database)
})

const remove = ({ sessionId }: SessionKey) =>
  database.run(`delete from session where id = ${literal(sessionId)}`)

function silenceWarnings() {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  return () => warn.mock.calls.map(([text]) => String(text))
}

function appPool(options: pg.PoolConfig = {}, url = database.url): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, ...options })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return pool
}

test('an unknown client is rejected, naming the clients that work', async () => {
  const client = new pg.Client(database.url)
  // @ts-expect-error a Client is one connection
  const opening = openPostgres({ pool: client })
  await expect(opening).rejects.toThrow(ConfigurationError)
  await expect(opening).rejects.toThrow('Pass a Pool')
})

test('the client of neon() is rejected by the types of openPostgres', async () => {
  const pool = neon('postgres://user:password@db.example.com/app')
  // @ts-expect-error it has no transactions
  const open = () => openPostgres({ pool }, PATIENT)
  expect(open).toBeTypeOf('function')
})

describe.each(Object.entries(POSTGRES_CLIENTS).filter(([name]) => !name.includes('neon')))(
  '%s',
  (_name, connect) => {
    test('is used for lookups and statements, delivers revocations, and stays open', async () => {
      const { client: pool, end } = connect(database.url)
      onTestFinished(() => end())
      const opened = await openPostgres({ pool }, PATIENT)
      const listener = vi.fn<() => void>()
      onTestFinished(opened.revocations.subscribe(ada, listener))
      expect(await opened.sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
      await until(async () => (await database.rows(LISTENING)).length > 0)
      await remove(ada)
      expect(await opened.sessions.findSession(ada)).toBeNull()
      await eventually(() => expect(listener).toHaveBeenCalled())
      await opened.close()
      expect(await reasonOf(Promise.resolve(opened.sessions.findSession(ada)))).toBe('SESSIONS_UNAVAILABLE')
      const again = await openPostgres({ pool }, PATIENT)
      onTestFinished(again.close)
      expect(await again.sessions.findSession(ada)).toBeNull()
    })

    test('migrates a new database once if three nodes start at the same time, and keeps no lock', async () => {
      const fresh = await create()
      const { client: pool, end } = connect(fresh.url)
      onTestFinished(() => end())
      const nodes = await Promise.all(Array.from({ length: 3 }, () => openPostgres({ pool }, PATIENT)))
      for (const { close } of nodes) onTestFinished(close)
      // By now, the pool has several connections, and gives each statement another one.
      const plugins = await Promise.all(nodes.map((node) => migratePlugins([emailPassword()], node)))
      const applied = [...nodes.map(({ migrations }) => migrations), ...plugins].flatMap((ran) => ran.applied)
      expect(applied).toHaveLength(new Set(applied).size)
      expect(applied[0]).toBe('0001_tables')
      expect(await fresh.rows(LOCKS)).toEqual([])
    })
  },
)

const LOCKS = `select pid from pg_locks join pg_database on database = pg_database.oid
  where locktype = 'advisory' and datname = current_database()`

const LISTENING = `select pid from pg_stat_activity where query ilike 'listen%' or query like '%revocation_log%'`

test('opening a new database prints no notices, which `postgres` logs by default', async () => {
  const notices: unknown[] = []
  const pool = postgres((await create()).url, { max: 4, onnotice: ({ message }) => notices.push(message) })
  onTestFinished(() => pool.end())
  const node = await openPostgres({ pool }, PATIENT)
  onTestFinished(node.close)
  await migratePlugins([emailPassword()], node)
  expect(notices).toEqual([])
})

test('PGlite delivers revocations, rolls a failed transaction back, and is read committed', async () => {
  const pool = await createPglite()
  await pool.exec(`set default_transaction_isolation = 'repeatable read'`)
  const opened = await openPostgres({ pool }, PATIENT)
  const run = async (sql: string) => void (await pool.exec(sql))
  const eve = await storeSession({ run })
  const listener = vi.fn<() => void>()
  onTestFinished(opened.revocations.subscribe(eve, listener))
  const level = sql<{ level: string }>`select current_setting('transaction_isolation') as level`
  const levels: unknown[] = []
  const failed = opened.db.transaction().execute(async (trx) => {
    levels.push(...(await level.execute(trx)).rows)
    await trx.deleteFrom('session').execute()
    throw new Error('undone')
  })
  await expect(failed).rejects.toThrow('undone')
  expect(await opened.sessions.findSession(eve)).toMatchObject({ id: eve.sessionId })
  await opened.db
    .transaction()
    .setIsolationLevel('serializable')
    .execute(async (trx) => {
      levels.push(...(await level.execute(trx)).rows)
      await trx.deleteFrom('session').execute()
    })
  expect(levels).toEqual([{ level: 'read committed' }, { level: 'serializable' }])
  expect(await opened.sessions.findSession(eve)).toBeNull()
  await eventually(() => expect(listener).toHaveBeenCalled())
  await opened.close()
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await pool.close()
})

test('a pool of one connection is not held by LISTEN: the node warns, and calls work', async () => {
  const warnings = silenceWarnings()
  const opened = await openPostgres({ pool: appPool({ max: 1 }) }, PATIENT)
  onTestFinished(opened.close)
  expect(await opened.sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
  await eventually(() => expect(warnings()).toEqual([expect.stringContaining('at least two connections')]))
})

/** Counts the lookup statements that a connection has prepared. */
const PREPARED = `select count(*)::int4 as count from pg_prepared_statements where statement like '%with ord' || 'inality%'`

test.each([
  [
    'a Pool of pg',
    () => {
      const pool = appPool({ max: 1 })
      return { pool, prepared: async () => (await pool.query(PREPARED)).rows }
    },
  ],
  [
    'postgres',
    () => {
      const pool = postgres(database.url, { max: 1, onnotice: () => {} })
      onTestFinished(() => pool.end())
      return { pool, prepared: async () => [...(await pool.unsafe(PREPARED))] }
    },
  ],
] as const)('lookups with %s are prepared once', async (_name, connect) => {
  silenceWarnings()
  const { pool, prepared } = connect()
  const opened = await openPostgres({ pool }, PATIENT)
  onTestFinished(opened.close)
  for (let i = 0; i < 3; i++) await opened.sessions.findSession(ada)
  expect(await prepared()).toEqual([{ count: 1 }])
})

test("a transaction that the app left open isn't used: its lookups would find revoked sessions", async () => {
  silenceWarnings()
  const pool = appPool({ max: 1 })
  const opened = await openPostgres({ pool }, PATIENT)
  onTestFinished(opened.close)
  const client = await pool.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select 1')
  client.release()
  await remove(ada)
  expect(await opened.sessions.findSession(ada)).toBeNull()
})

describe('settings of the app that change how values are read', () => {
  const connections: [name: string, options: string][] = [
    ['dates with the day first', '-c datestyle=SQL,DMY'],
    ['rounded numbers', '-c extra_float_digits=-13'],
  ]
  test.each(connections)('%s are rejected', async (_name, options) => {
    const url = `${database.url}?options=${encodeURIComponent(options)}`
    const sql = postgres(database.url, {
      max: 2,
      onnotice: () => {},
      connection: Object.fromEntries([options.slice(3).split('=')]),
    })
    onTestFinished(() => sql.end())
    for (const source of [url, { pool: appPool({}, url) }, { pool: sql }])
      await expect(openPostgres(source)).rejects.toThrow('The client misreads values')
  })

  test('parsers of all dates and integers, which the app has set, change nothing', async () => {
    const types = [pg.types.builtins.TIMESTAMPTZ, pg.types.builtins.INT8, pg.types.builtins.INT4]
    for (const type of types) {
      const parser = pg.types.getTypeParser(type)
      pg.types.setTypeParser(type, type === pg.types.builtins.TIMESTAMPTZ ? String : BigInt)
      onTestFinished(() => pg.types.setTypeParser(type, parser))
    }
    for (const source of [database.url, { pool: appPool() }]) {
      const { sessions, close } = await openPostgres(source, PATIENT)
      onTestFinished(close)
      expect(await sessions.findSession(ada)).toMatchObject({ id: ada.sessionId, version: 1 })
      const token = await sessions.findToken(ada.sessionId)
      expect([token?.createdAt, token?.version]).toEqual([expect.any(Date), 1])
    }
  })
})

test('a connection that was killed is replaced by the pool, and lookups are retried', async () => {
  const pool = appPool({ max: 3, application_name: 'app-pool' })
  const opened = await openPostgres({ pool }, PATIENT)
  onTestFinished(opened.close)
  await database.rows(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'app-pool'`,
  )
  await until(async () => (await reasonOf(Promise.resolve(opened.sessions.findSession(ada)))) === 'accepted')
})

test('after an outage, `postgres` delivers each revocation once', async () => {
  const restarted = await startPostgres()
  onTestFinished(() => restarted.stop())
  const url = await restarted.createDatabase('app')
  const hand = new pg.Pool({ connectionString: url, max: 1 })
  hand.on('error', () => {})
  onTestFinished(() => hand.end())
  const run = async (sql: string) => void (await hand.query(sql))
  const sql = postgres(url, { max: 3, onnotice: () => {}, backoff: () => 0.05 })
  // After a crash, the package may wait for a connection that never opens.
  onTestFinished(() => sql.end({ timeout: 1 }))
  const opened = await openPostgres({ pool: sql })
  onTestFinished(opened.close)
  const { revocations, sessions } = opened
  const listeners = async () =>
    (await hand.query("select pid from pg_stat_activity where query ilike 'listen%'")).rows
  await until(async () => (await listeners()).length > 0)
  // Meanwhile, the feed and the package try to connect.
  const failed = vi.fn<() => void>()
  revocations.failures?.follow(failed)
  await restarted.crash()
  await eventually(() => expect(failed.mock.calls.length).toBeGreaterThan(3))
  await restarted.start()
  await until(async () => (await reasonOf(hand.query('select 1'))) === 'accepted')
  await until(async () => (await listeners()).length > 0)
  const [first, second] = [await storeSession({ run }), await storeSession({ run })]
  const [ended, endedLast] = [vi.fn<() => void>(), vi.fn<() => void>()]
  onTestFinished(revocations.subscribe(first, ended))
  onTestFinished(revocations.subscribe(second, endedLast))
  for (const { sessionId } of [first, second])
    await run(`delete from session where id = ${literal(sessionId)}`)
  await until(() => ended.mock.calls.length > 0 && endedLast.mock.calls.length > 0)
  for (const each of [ended, endedLast]) expect(each).toHaveBeenCalledTimes(1)
  expect(await sessions.findSession(first)).toBeNull()
})

test('a transaction that gets no connection of `postgres` is 503, and is rolled back if it begins later', async () => {
  const sql = postgres(database.url, { max: 1, onnotice: () => {} })
  onTestFinished(() => sql.end())
  const opened = await openPostgres({ pool: sql }, { statementTimeoutMs: 100 })
  onTestFinished(opened.close)
  const held = Promise.withResolvers<void>()
  const holding = sql.begin(() => held.promise)
  const rename = (name: string) =>
    opened.db.transaction().execute((trx) => trx.updateTable('user').set({ name }).execute())
  expect(await reasonOf(rename('late'))).toBe('SESSIONS_UNAVAILABLE')
  held.resolve()
  await holding
  await rename('next')
  expect(await database.rows('select distinct name from "user"')).toEqual([{ name: 'next' }])
})

describe('a server in recovery', () => {
  test.skipIf(PGBOUNCER === null)('is rejected behind a pooler, whose connections outlive it', async () => {
    silenceWarnings()
    const standby = await startPostgres()
    onTestFinished(() => standby.stop())
    await standby.createDatabase('app')
    const hand = new pg.Pool({ connectionString: standby.urlOf('app'), max: 1 })
    hand.on('error', () => {})
    onTestFinished(() => hand.end())
    const url = (await startPgBouncer(standby, 'transaction'))('app')
    const opened = await Promise.all([openPostgres(url), openPostgres({ pool: appPool({ max: 3 }, url) })])
    for (const { close } of opened) onTestFinished(close)
    const eve = await storeSession({ run: async (sql) => void (await hand.query(sql)) })
    const find = () =>
      Promise.all(opened.map(({ sessions }) => reasonOf(Promise.resolve(sessions.findSession(eve)))))
    expect(await find()).toEqual(['accepted', 'accepted'])
    await demote(standby, hand)
    for (let i = 0; i < 10; i++)
      expect(await find()).toEqual(['SESSIONS_UNAVAILABLE', 'SESSIONS_UNAVAILABLE'])
  })

  test.each([
    ['a Pool of pg', (url: string) => new pg.Pool({ connectionString: url, max: 3 })],
    ['postgres', (url: string) => postgres(url, { max: 3, onnotice: () => {} })],
  ])('is rejected through %s: at startup, and by each lookup', async (_name, connect) => {
    const standby = await startPostgres()
    onTestFinished(() => standby.stop())
    const url = await standby.createDatabase('app')
    const pool = connect(url)
    if (pool instanceof pg.Pool) pool.on('error', () => {})
    onTestFinished(() => pool.end())
    const opened = await openPostgres({ pool })
    onTestFinished(opened.close)
    const hand = new pg.Pool({ connectionString: url, max: 1 })
    hand.on('error', () => {})
    onTestFinished(() => hand.end())
    const eve = await storeSession({ run: async (sql) => void (await hand.query(sql)) })
    expect(await opened.sessions.findSession(eve)).toMatchObject({ id: eve.sessionId })
    await demote(standby, hand)
    // The standby may not have a session yet.
    const newer = { ...eve, sessionId: crypto.randomUUID() }
    for (const key of [eve, newer, eve, newer])
      expect(await reasonOf(Promise.resolve(opened.sessions.findSession(key)))).toBe('SESSIONS_UNAVAILABLE')
    await until(async () => {
      const find = async () => opened.sessions.findSession(eve)
      return failureCode(await find().catch((error: unknown) => error)) === 'DATABASE_READ_ONLY'
    })
    // The other package hides its connections.
    const read = opened.db.selectFrom('session').select('id').execute()
    expect(await reasonOf(read)).toBe(pool instanceof pg.Pool ? 'SESSIONS_UNAVAILABLE' : 'accepted')
    await expect(openPostgres({ pool })).rejects.toThrow('in recovery')
    await hand.query('select pg_promote()')
    await until(
      async () => (await reasonOf(Promise.resolve(opened.sessions.findSession(eve)))) === 'accepted',
    )
  })
})

test('a pool that sends reads elsewhere is rejected, since lookups would be stale', async () => {
  const stale = await create()
  await (await stale.open()).close()
  const [primary, replica] = [appPool({ max: 3 }), appPool({ max: 3 }, stale.url)]
  const taken = new Set<pg.PoolClient>()
  const give = (client: pg.PoolClient) => {
    if (taken.delete(client)) client.release(true)
  }
  let isOver = false
  // The server of this file may end first.
  onTestFinished(() => {
    isOver = true
    for (const client of taken) give(client)
  })
  const take = async (pool: pg.Pool) => {
    const client = await pool.connect()
    client.on('error', () => {})
    taken.add(client)
    if (isOver) give(client)
    return client
  }
  /** Like a proxy that splits reads from writes. */
  const connect = async () => {
    const [writer, reader] = [await take(primary), await take(replica)]
    const query = (statement: { text: string }) =>
      (/^\s*select\b/.test(statement.text) ? reader : writer).query(statement)
    const release = () => {
      give(writer)
      give(reader)
    }
    return { ...eventsOf(writer), query, release }
  }
  const opening = openPostgres({ pool: { totalCount: 0, connect } })
  await expect(opening).rejects.toThrow(ConfigurationError)
  await expect(opening).rejects.toThrow('Connect to the primary')
})

const eventsOf = (client: pg.PoolClient) => ({
  on: client.on.bind(client),
  once: client.once.bind(client),
  removeListener: client.removeListener.bind(client),
})

describe('neon() over HTTP, on a stub of its server', () => {
  let stop: () => Promise<void>
  beforeAll(async () => {
    stop = await startNeonHttpStub(database.url)
  })
  afterAll(() => stop())

  const open = async () => {
    const pool = neon(database.url)
    const opened = await openPostgresStore(
      { pool },
      { mapping: { session: { columns: { version: 'version' } } } },
    )
    onTestFinished(opened.close)
    return opened
  }

  test('validates sessions and limits rates, and runs on leases', async () => {
    const warnings = silenceWarnings()
    // Creates the triggers of a mapped store, which needs transactions.
    const { close } = await database.openStore({ session: { columns: { version: 'version' } } })
    await close()
    const opened = await open()
    expect(await opened.sessions.findSession(ada)).toMatchObject({
      id: ada.sessionId,
      user: { role: 'user' },
    })
    await remove(ada)
    expect(await opened.sessions.findSession(ada)).toBeNull()
    expect(opened).not.toHaveProperty('locks')
    const limit = { points: 1, duration: 60 }
    const key = crypto.randomUUID()
    const counts = [await opened.limits?.consume(key, limit), await opened.limits?.consume(key, limit)]
    expect(counts).toEqual([null, 60])
    await eventually(() => expect(warnings().join()).toContain("can't listen"))
  })

  test('opens without the internal tables, counts in memory, and says so', async () => {
    const warnings = silenceWarnings()
    await database.run('drop schema sallyport cascade')
    const opened = await open()
    expect(await opened.sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
    expect(await opened.limits?.consume('key', { points: 1, duration: 60 })).toBeNull()
    expect(warnings().join()).toContain('HTTP')
  })
})

import { ConfigurationError, sessionsOf } from '@sallyport/core'
import { openPostgres, openPostgresStore, type PostgresOptions } from '@sallyport/core/postgres'
import { sql } from 'kysely'
import pg from 'pg'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { failureCode } from '../src/events/failure-code.ts'
import { PATIENT, testPostgres } from './support/postgres.ts'
import { reasonOf } from './support/reason-of.ts'
import { storeSession } from './support/stored-sessions.ts'
import { startProxy } from './support/tcp-proxy.ts'
import { until } from './support/until.ts'

const server = await testPostgres()
const url = await server.createDatabase('app')

async function open(options?: PostgresOptions, at = url) {
  const database = await openPostgres<{ note: { id: number; text: string | null } }>(at, {
    ...PATIENT,
    ...options,
  })
  onTestFinished(database.close)
  return database
}

const through = ({ port }: { port: number }) => url.replace(`:${server.port}/`, `:${port}/`)

/** Opens a connection that belongs to no store. */
async function connectByHand(at = url) {
  const hand = new pg.Client(at)
  await hand.connect()
  onTestFinished(() => hand.end())
  return hand
}

const connections = async (hand: pg.Client) => {
  const { rows } = await hand.query<{
    pid: number
    name: string
  }>(`select pid, application_name as name from pg_stat_activity
    where datname = current_database() and application_name like 'sallyport%' order by backend_start`)
  return rows
}

describe('a URL', () => {
  test.each([
    '',
    'app',
    ':memory:',
    'file:app.db',
    'mysql://localhost/app',
    'postgres:',
    'postgres:app',
    'postgres://[',
    'http://postgres://localhost/app',
  ])('rejects %j', async (wrong) => {
    await expect(openPostgres(wrong)).rejects.toThrow(ConfigurationError)
    await expect(openPostgresStore(wrong, { mapping: {} })).rejects.toThrow(ConfigurationError)
  })
})

test.each(
  (['poolSize', 'lookupTimeoutMs', 'statementTimeoutMs', 'connectTimeoutMs'] as const).flatMap((name) =>
    [0, -1, Number.NaN, Number.POSITIVE_INFINITY].map((value) => [name, value] as const),
  ),
)('rejects %d for the option %s', async (name, value) => {
  await expect(openPostgres(url, { [name]: value })).rejects.toThrow(ConfigurationError)
  await expect(openPostgres(url, { [name]: value })).rejects.toThrow(name)
})

describe("reports why a database can't be opened", () => {
  test.each([
    ['a missing database', () => server.urlOf('nowhere'), 'does not exist'],
    ['a wrong password', () => url.replace(':postgres@', ':wrong@'), 'password authentication'],
    ['a closed port', () => url.replace(`:${server.port}/`, ':1/'), 'ECONNREFUSED'],
  ])('%s', async (_name, wrong, message) => {
    await expect(openPostgres(wrong(), PATIENT)).rejects.toThrow(message)
    await expect(openPostgresStore(wrong(), { ...PATIENT, mapping: {} })).rejects.toThrow(message)
  })

  test("a server that doesn't respond", async () => {
    const proxy = await startProxy(server.port)
    proxy.hold()
    await expect(openPostgres(through(proxy), { connectTimeoutMs: 100 })).rejects.toThrow(/timeout|in time/)
  })

  // Less than the time after which a pool closes idle connections.
  test('leaves no connection behind', async () => {
    const broken = await server.createDatabase('broken')
    const hand = await connectByHand(broken)
    await hand.query('create table account (id text)')
    await expect(openPostgres(broken, PATIENT)).rejects.toThrow('account')
    await until(async () => (await connections(hand)).length === 0)
    await expect(openPostgresStore(broken, { ...PATIENT, mapping: {} })).rejects.toThrow('mapping')
    await until(async () => (await connections(hand)).length === 0)
  })
})

test('returns a handle with the store, usable as the db of a context', async () => {
  const { db, sessions } = await open()
  expect(sessionsOf(db)).toBe(sessions)
})

test('a node has its pool, two connections for lookups, and one that listens', async () => {
  const hand = await connectByHand()
  const { db, close } = await open({ poolSize: 2 })
  await Promise.all(Array.from({ length: 6 }, () => sql`select 1`.execute(db)))
  const expected = ['sallyport', 'sallyport', 'sallyport-listen', 'sallyport-lookup', 'sallyport-lookup']
  await until(async () => (await connections(hand)).length === expected.length)
  expect((await connections(hand)).map(({ name }) => name).sort()).toEqual(expected)
  await close()
  await until(async () => (await connections(hand)).length === 0)
})

describe('a statement', () => {
  test('of the app is planned as PostgreSQL chooses, so its values can count', async () => {
    const { db } = await open()
    const { rows } = await sql`show plan_cache_mode`.execute(db)
    expect(rows).toEqual([{ plan_cache_mode: 'auto' }])
  })

  beforeEach(async () => {
    const hand = await connectByHand()
    await hand.query(
      'drop table if exists note; create table note (id integer primary key, text text unique)',
    )
  })

  test.each([
    ['a broken constraint', '23505', sql`insert into note values (1, 'a'), (1, 'b')`],
    ['wrong SQL', '42601', sql`selekt`],
    ['a missing table', '42P01', sql`select * from nowhere`],
    ['a value of the wrong type', '22P02', sql`select ${'x'}::integer`],
    ['a null character', '22021', sql`select ${'\0'}::text`],
    ['an exception in a function', 'P0001', sql`do $$ begin raise 'no'; end $$`],
    ['a transaction conflict', '40001', sql`do $$ begin raise 'no' using errcode = '40001'; end $$`],
    ['a deadlock', '40P01', sql`do $$ begin raise 'no' using errcode = '40P01'; end $$`],
  ])('reports its own error: %s', async (_name, code, statement) => {
    const { db } = await open({ poolSize: 1 })
    await expect(statement.execute(db)).rejects.toMatchObject({ code })
    const inside = db.transaction().execute((trx) => statement.execute(trx))
    await expect(inside).rejects.toMatchObject({ code })
    expect(await db.selectFrom('note').selectAll().execute()).toEqual([])
  })

  test.each([
    ['the server cancels', `do $$ begin raise 'no' using errcode = '57P01'; end $$`],
    ['exhausts memory', `do $$ begin raise 'no' using errcode = '53200'; end $$`],
    ['takes too long', 'select pg_sleep(10)'],
  ])('that %s is SESSIONS_UNAVAILABLE, and the next one succeeds', async (_name, statement) => {
    const { db } = await open({ poolSize: 1, statementTimeoutMs: 1_000 })
    expect(await reasonOf(sql.raw(statement).execute(db))).toBe('SESSIONS_UNAVAILABLE')
    const inside = db.transaction().execute((trx) => sql.raw(statement).execute(trx))
    expect(await reasonOf(inside)).toBe('SESSIONS_UNAVAILABLE')
    expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }])
  })

  test('whose connection is killed is SESSIONS_UNAVAILABLE, also in a transaction, and the next one succeeds', async () => {
    const { db } = await open({ poolSize: 1 })
    const killing = sql`select pg_terminate_backend(pg_backend_pid())`
    expect(await reasonOf(killing.execute(db))).toBe('SESSIONS_UNAVAILABLE')
    const transaction = db.transaction().execute(async (trx) => {
      await trx.insertInto('note').values({ id: 1, text: 'a' }).execute()
      await killing.execute(trx)
    })
    expect(await reasonOf(transaction)).toBe('SESSIONS_UNAVAILABLE')
    expect(await db.selectFrom('note').selectAll().execute()).toEqual([])
  })

  test.each([
    ['while it runs', 'transaction_timeout', '25P04', sql`select pg_sleep(10)`],
    ['before it runs', 'idle_in_transaction_session_timeout', '25P03', sql`select 1`],
  ])(
    'of a transaction that the server ends %s has the cause of that',
    async (_name, setting, code, statement) => {
      const { db } = await open({ poolSize: 1 })
      const transaction = db.transaction().execute(async (trx) => {
        await sql.raw(`set local ${setting} = 100`).execute(trx)
        const hand = await connectByHand()
        const isOpen = async () => (await connections(hand)).some(({ name }) => name === 'sallyport')
        if (code === '25P03') await until(async () => !(await isOpen()))
        await statement.execute(trx)
      })
      const error = await transaction.catch((error: unknown) => error)
      expect(error).toMatchObject({ reason: 'SESSIONS_UNAVAILABLE', cause: { code } })
      expect(failureCode(error)).toBe('DATABASE_TIMEOUT')
    },
  )

  test('that finds no free connection in time is SESSIONS_UNAVAILABLE', async () => {
    const { db } = await open({ poolSize: 1, connectTimeoutMs: 1_000, statementTimeoutMs: 1_000 })
    const transaction = db.transaction().execute(async (trx) => {
      await sql`select 1`.execute(trx)
      expect(await reasonOf(sql`select 1`.execute(db))).toBe('SESSIONS_UNAVAILABLE')
    })
    expect(await reasonOf(transaction)).toBe('accepted')
  })

  test('gives up on a stopped server and closes the connection', async () => {
    const hand = await connectByHand()
    const { db } = await open({ poolSize: 1, statementTimeoutMs: 2_000 })
    await sql`select 1`.execute(db)
    const [pool] = (await connections(hand)).filter(({ name }) => name === 'sallyport')
    const pid = pool?.pid ?? 0
    process.kill(pid, 'SIGSTOP')
    onTestFinished(() => void process.kill(pid, 'SIGCONT'))
    expect(await reasonOf(sql`select 1`.execute(db))).toBe('SESSIONS_UNAVAILABLE')
    expect(await reasonOf(sql`select 1`.execute(db))).toBe('accepted')
  })
})

describe('connections', () => {
  test('are opened in parallel, at most as many as the node may have', async () => {
    const proxy = await startProxy(server.port)
    const { db } = await open({ poolSize: 8 }, through(proxy))
    await Promise.all(Array.from({ length: 20 }, () => sql`select pg_sleep(0.01)`.execute(db)))
    expect(proxy.attempts).toBeGreaterThanOrEqual(8)
    expect(proxy.mostUnanswered).toBeGreaterThan(1)
    expect(proxy.mostUnanswered).toBeLessThanOrEqual(8 + 3)
  })

  test("that can't be opened block no caller, and are opened again once the server is back", async () => {
    const proxy = await startProxy(server.port)
    const { db, sessions } = await open({ poolSize: 4 }, through(proxy))
    const ask = () =>
      Promise.all([
        ...Array.from({ length: 20 }, () => reasonOf(sql`select 1`.execute(db))),
        reasonOf(Promise.resolve(sessions.findSession({ sessionId: 's', userId: 'u' }))),
      ])
    proxy.reject()
    proxy.cut()
    await until(async () => (await ask()).every((reason) => reason === 'SESSIONS_UNAVAILABLE'))
    const most = Math.max(proxy.mostUnanswered, 4 + 3)
    proxy.release()
    await until(async () => (await ask()).every((reason) => reason === 'accepted'))
    expect(proxy.mostUnanswered).toBeLessThanOrEqual(most)
  })
})

test('counts attempts for any characters in the key', async () => {
  const { limits } = await open()
  const limit = { points: 1, duration: 60 }
  for (const key of [
    '\0',
    'x\0y',
    '\ud83d',
    'x'.repeat(10_000),
    Array.from({ length: 3_000 }, () => Math.random()).join(),
  ])
    expect([await limits.consume(key, limit), await limits.consume(key, limit)]).toEqual([null, 60])
})

test('finds a stored session while an uncommitted transaction deletes it', async () => {
  const { db, sessions } = await open()
  const hand = await connectByHand()
  const key = await storeSession({ run: async (statement) => void (await hand.query(statement)) })
  expect(await sessions.findSession(key)).toMatchObject({ id: key.sessionId })
  await db.transaction().execute(async (trx) => {
    await trx.deleteFrom('session').where('id', '=', key.sessionId).execute()
    expect(await sessions.findSession(key)).toMatchObject({ id: key.sessionId })
  })
  expect(await sessions.findSession(key)).toBeNull()
})

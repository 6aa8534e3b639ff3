import { DatabaseSync } from 'node:sqlite'
import type { AuthEvent } from '@sallyport/core'
import { ConfigurationError } from '@sallyport/core'
import { createSession } from '@sallyport/core/auth'
import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { PruneOptions, PruneReport } from '../../src/lifecycle/prune.ts'
import { prune } from '../../src/lifecycle/prune.ts'
import { closeLater, databaseKinds } from '../support/database-kinds.ts'
import { PATIENT } from '../support/postgres.ts'
import { collectRevocations } from '../support/revocations.ts'
import { storeSession } from '../support/stored-sessions.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const events: AuthEvent[] = []
const auth = await createTestAuth({ onEvent: (event) => void events.push(event) })
const { config, database, db, clock } = auth
const { userId } = await auth.createUser()
const published = collectRevocations(database.revocations)
afterAll(() => auth.close())
beforeEach(async () => {
  for (const table of ['session', 'sallyport.audit', 'sallyport.rate_limit'] as const)
    await db.deleteFrom(table).execute()
  events.length = 0
  published.length = 0
})

const now = () => clock.now()
const before = (ms: number) => new Date(now().getTime() - ms)
const run = (options: Partial<PruneOptions> = {}) => prune(database, { now: now(), ...options })

/** Sessions that expire at this moment. */
async function addSessions(count: number, expiresAt: Date): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const { id } = await createSession(database, { userId, config })
    await db.updateTable('session').set({ expiresAt }).where('id', '=', id).execute()
    ids.push(id)
  }
  await db.deleteFrom('sallyport.audit').execute()
  events.length = 0
  return ids.sort()
}

async function addRecord(createdAt: Date): Promise<string> {
  const id = crypto.randomUUID()
  const record = {
    type: 'session.created',
    userId,
    sessionId: null,
    actorId: null,
    address: null,
    detail: '{}',
  }
  await db
    .insertInto('sallyport.audit')
    .values({ id, ...record, createdAt })
    .execute()
  return id
}

const addCounter = (key: string, expire: number | null) =>
  db.insertInto('sallyport.rate_limit').values({ key, points: 1, expire }).execute()

const idsOf = async (table: 'session' | 'sallyport.audit') =>
  (await db.selectFrom(table).select('id').execute()).map(({ id }) => id).sort()
const keys = async () =>
  (await db.selectFrom('sallyport.rate_limit').select('key').execute()).map(({ key }) => key)

describe('sessions', () => {
  test('stay if they expire later today by a date that was changed by hand, with a space', async () => {
    const ids = await addSessions(2, now())
    const moment = (ms: number) =>
      sql<Date>`${new Date(now().getTime() + ms).toISOString().slice(0, 19).replace('T', ' ')}`
    const [alive = '', expired = ''] = ids
    await db
      .updateTable('session')
      .set({ expiresAt: moment(2_000) })
      .where('id', '=', alive)
      .execute()
    await db
      .updateTable('session')
      .set({ expiresAt: moment(-2_000) })
      .where('id', '=', expired)
      .execute()
    expect(await run()).toMatchObject({ session: 1 })
    expect(await idsOf('session')).toEqual([alive])
  })

  test('are deleted once expired, and valid ones stay', async () => {
    const expired = [...(await addSessions(2, now())), ...(await addSessions(1, before(DAY_MS)))]
    const alive = await addSessions(2, before(-1))
    expect(await run()).toMatchObject({ session: 3 })
    expect(await idsOf('session')).toEqual(alive)
    expect(events).toHaveLength(3)
    const event = { type: 'session.expired', userId, at: now() }
    expect(events).toEqual(expect.arrayContaining(expired.map((sessionId) => ({ ...event, sessionId }))))
  })

  test('are recorded when they expire, and no stream validates again', async () => {
    const [sessionId] = await addSessions(1, now())
    await run()
    const records = db
      .selectFrom('sallyport.audit')
      .select(['type', 'userId', 'sessionId', 'detail', 'createdAt'])
    expect(await records.execute()).toEqual([
      { type: 'session.expired', userId, sessionId, detail: '{}', createdAt: now().toISOString() },
    ])
    expect(published).toEqual([])
  })

  test('are deleted in batches, with a report after each one', async () => {
    await addSessions(5, now())
    const reports: PruneReport[] = []
    const sizes: number[] = []
    await run({
      batchSize: 2,
      onProgress(report) {
        reports.push(report)
        sizes.push(events.length)
      },
    })
    expect(reports.map(({ session }) => session).slice(0, 3)).toEqual([2, 4, 5])
    expect(sizes.slice(0, 3)).toEqual([2, 4, 5])
    expect(reports.at(-1)).toEqual({
      session: 5,
      'sallyport.audit': 0,
      'sallyport.rate_limit': 0,
      'sallyport.challenge': 0,
      'sallyport.service_token': 0,
      'sallyport.service_call': 0,
    })
    expect(await idsOf('session')).toEqual([])
  })

  test('let another writer run between two batches', async () => {
    await addSessions(4, now())
    const order: string[] = []
    const write = addSessions(0, now()).then(() => db.updateTable('user').set({ name: 'Written' }).execute())
    await Promise.all([
      run({ batchSize: 1, onProgress: ({ session = 0 }) => void order.push(`pruned ${session}`) }),
      write.then(() => order.push('written')),
    ])
    expect(order.indexOf('written')).toBeLessThan(order.indexOf('pruned 4'))
  })
})

test('a process whose clock is ahead deletes only what has expired by the clock of the database', async () => {
  const real = Date.now()
  const [alive] = await addSessions(1, new Date(real + 60 * 60 * 1000))
  await addSessions(1, new Date(real - 60 * 60 * 1000))
  vi.useFakeTimers({ toFake: ['Date'], now: real + DAY_MS })
  onTestFinished(() => void vi.useRealTimers())
  expect(await run({ now: new Date() })).toMatchObject({ session: 1 })
  expect(await idsOf('session')).toEqual([alive])
})

describe('records in audit', () => {
  test.each([
    ['a year', undefined, 365],
    ['the configured number of days', 30, 30],
  ])('are kept for %s', async (_name, auditDays, days) => {
    await addRecord(before(days * DAY_MS))
    const kept = [await addRecord(before(days * DAY_MS - 1)), await addRecord(now())]
    const options = auditDays === undefined ? {} : { auditDays }
    expect(await run(options)).toMatchObject({ 'sallyport.audit': 1 })
    expect(await idsOf('sallyport.audit')).toEqual(kept.sort())
  })

  test('are kept forever if configured', async () => {
    await addRecord(new Date(0))
    expect(await run({ auditDays: Number.POSITIVE_INFINITY })).not.toHaveProperty('sallyport.audit')
    expect(await idsOf('sallyport.audit')).toHaveLength(1)
  })
})

test.each([
  ...[0, -1, 1.5, Number.NaN].flatMap((value) => [{ batchSize: value }, { auditDays: value }]),
  { batchSize: Number.POSITIVE_INFINITY },
  { auditDays: 36_501 },
])('rejects an invalid option by its name, and deletes no records: %j', async (options) => {
  const kept = [await addRecord(before(60_000))]
  const [name = ''] = Object.keys(options)
  await expect(run(options)).rejects.toThrow(ConfigurationError)
  await expect(run(options)).rejects.toThrow(new RegExp(`^${name}\\b`))
  expect(await idsOf('sallyport.audit')).toEqual(kept)
})

test('deletes rate limit counters once they expire, and keeps one without an end', async () => {
  await addCounter('run out', now().getTime())
  await addCounter('long run out', 0)
  await addCounter('running', now().getTime() + 1)
  await addCounter('endless', null)
  expect(await run({ batchSize: 1 })).toMatchObject({ 'sallyport.rate_limit': 2 })
  expect((await keys()).sort()).toEqual(['endless', 'running'])
})

test('deletes revocation log entries after an hour, in batches, in PostgreSQL', async () => {
  const [, postgres] = await databaseKinds()
  const opened = await (await postgres.create()).open()
  const { db } = opened
  const add = (at: Date, userId: string) =>
    db.insertInto('sallyport.revocation_log').values({ sessionId: null, userId, at }).execute()
  const HOUR_MS = 60 * 60 * 1000
  for (const user of ['a', 'b', 'c']) await add(before(HOUR_MS), user)
  await add(before(HOUR_MS - 1), 'kept')
  expect(await prune(opened, { now: now(), batchSize: 2 })).toMatchObject({ 'sallyport.revocation_log': 3 })
  const left = await db.selectFrom('sallyport.revocation_log').select('userId').execute()
  expect(left).toEqual([{ userId: 'kept' }])
})

describe('in PostgreSQL, without waiting for a transaction of the app, which could wait for this one', async () => {
  const [, postgres] = await databaseKinds()
  const database = await postgres.create()
  const opened = await database.open()
  const app = new pg.Client(database.url)
  await app.connect()
  closeLater({ close: () => app.end() })
  await database.run('create table device (id text primary key, "expiresAt" timestamptz)')

  test.each([
    ['a user', `update "user" set name = 'Ada' where id = 'b'`, { session: 2, device: 3 }],
    ['a session', `update session set "lastSeenAt" = now() where id = 'b'`, { session: 2, device: 3 }],
    ['a row of another table', `delete from device where id = 'b'`, { session: 3, device: 2 }],
  ])('skips %s that it has locked', async (_name, lock, removed) => {
    for (const id of ['a', 'b', 'c']) {
      await storeSession(database, { id, userId: id, expiresAt: new Date(0) })
      await database.run(`insert into device values ('${id}', to_timestamp(0))`)
    }
    await app.query(`begin; ${lock}`)
    const pruning = prune(opened, { now: new Date(), tables: ['device'], batchSize: 2 })
    await expect(pruning).resolves.toMatchObject(removed)
    await app.query('rollback')
    await expect(prune(opened, { now: new Date(), tables: ['device'] })).resolves.toMatchObject({
      session: 3 - removed.session,
      device: 3 - removed.device,
    })
  })

  test('removes sessions of other users behind many sessions of a user that it has locked', async () => {
    for (const id of ['a', 'b', 'c'])
      await storeSession(database, { id, userId: 'hot', expiresAt: new Date(0) })
    await storeSession(database, { id: 'd', userId: 'other', expiresAt: new Date(0) })
    await app.query(`begin; update "user" set name = 'Ada' where id = 'hot'`)
    const report = await prune(opened, { now: new Date(), batchSize: 2 })
    await app.query('rollback')
    expect(report).toMatchObject({ session: 1 })
    expect(await prune(opened, { now: new Date() })).toMatchObject({ session: 3 })
  })

  test('needs no right to update records in audit, and none to delete them if they are kept forever', async () => {
    await database.run(`
      create role pruner login password 'pruner';
      grant usage on schema sallyport to pruner;
      grant select, insert, update, delete on all tables in schema sallyport, public to pruner;
      revoke update on sallyport.audit from pruner;
      insert into sallyport.audit (id, type, detail, "createdAt") values ('old', 'x', '{}', '2001-01-01')`)
    const url = Object.assign(new URL(database.url), { username: 'pruner', password: 'pruner' })
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const pruner = closeLater(await openPostgres(url.href, { ...PATIENT, migrate: false }))
    expect(await prune(pruner, { now: new Date() })).toMatchObject({ 'sallyport.audit': 1 })
    // As docs/security.md recommends for the role of the app.
    await database.run('revoke delete on sallyport.audit from pruner')
    await expect(prune(pruner, { now: new Date() })).rejects.toThrow('permission denied for table audit')
    const kept = { now: new Date(), auditDays: Number.POSITIVE_INFINITY }
    expect(await prune(pruner, kept)).toMatchObject({ 'sallyport.rate_limit': 0, 'sallyport.challenge': 0 })
  })
})

test.each(['sallyport.service_token', 'sallyport.service_call'] as const)(
  'deletes expired rows of service calls in %s',
  async (table) => {
    const add = (id: string, expiresAt: Date) =>
      table === 'sallyport.service_token'
        ? db.insertInto(table).values({ id, expiresAt }).execute()
        : db.insertInto(table).values({ id, fn: 'f', body: 'b', userId, result: null, expiresAt }).execute()
    await add('old', now())
    await add('live', before(-1))
    expect(await run()).toMatchObject({ [table]: 1 })
    expect(await db.selectFrom(table).select('id').execute()).toEqual([{ id: 'live' }])
  },
)

describe('the tables of plugins', () => {
  const addDevice = (expiresAt: Date) =>
    db
      .$extendTables<{
        knownDevice: { id: string; device: string; userId: string; expiresAt: Date; createdAt: Date }
      }>()
      .insertInto('knownDevice')
      .values({ id: crypto.randomUUID(), device: crypto.randomUUID(), userId, expiresAt, createdAt: now() })
      .execute()

  test('are pruned only if they are named', async () => {
    await addDevice(now())
    await addDevice(before(-1))
    expect(await run()).not.toHaveProperty('knownDevice')
    expect(await run({ tables: ['verification', 'knownDevice'], batchSize: 1 })).toEqual({
      session: 0,
      'sallyport.audit': 0,
      'sallyport.rate_limit': 0,
      'sallyport.challenge': 0,
      'sallyport.service_token': 0,
      'sallyport.service_call': 0,
      verification: 0,
      knownDevice: 1,
    })
  })

  test("that don't exist are an error", async () => {
    await expect(run({ tables: ['nowhere'] })).rejects.toThrow(/nowhere/)
  })

  test.each(['id', 'expiresAt'])(
    'without the column %s are an error and keep their rows',
    async (missing) => {
      // As in Bun, the name of a missing column is text.
      const client = new DatabaseSync(':memory:', { enableDoubleQuotedStringLiterals: true })
      const opened = await openSqlite({ client })
      const columns = ['id', 'expiresAt', 'code'].filter((name) => name !== missing)
      client.exec(`create table invite (${columns.join(' text, ')} text)`)
      client.exec("insert into invite values ('2000-01-01', 'one'), ('2999-01-01', 'two')")
      await expect(prune(opened, { now: now(), tables: ['invite'] })).rejects.toThrow(missing)
      expect(client.prepare('select code from invite').all()).toHaveLength(2)
      await opened.close()
    },
  )

  test('are those of the plugins if the auth server prunes', async () => {
    await addDevice(now())
    await addSessions(1, now())
    expect(await auth.prune()).toMatchObject({ session: 1, verification: 0, knownDevice: 1 })
  })
})

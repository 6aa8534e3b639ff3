import { ConfigurationError } from '@sallyport/core'
import { openPostgres, openPostgresStore } from '@sallyport/core/postgres'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { databaseKinds } from '../../support/database-kinds.ts'
import { PATIENT } from '../../support/postgres.ts'
import { literal, storeSession, takeLog } from '../../support/stored-sessions.ts'
import { until } from '../../support/until.ts'

const kinds = await databaseKinds({}, { poolSize: 2 })
const LIMIT = { points: 1, duration: 60 }

/** The table of Better Auth's rate limits with `storage: 'database'`, and an app's own audit trail. */
const FOREIGN = `
  create table "rateLimit" (id text primary key, key text, count integer, "lastRequest" bigint);
  create table audit (what text);
  insert into "rateLimit" values ('1', 'k', 7, 8);
  insert into audit values ('theirs')`

describe.each(kinds)('$name', ({ create }) => {
  test.each(['before', 'after'])(
    'leaves tables of other libraries alone that were created %s ours',
    async (moment) => {
      const database = await create()
      if (moment === 'before') await database.run(FOREIGN)
      const { limits, db } = await database.open()
      if (moment === 'after') await database.run(FOREIGN)
      expect(await limits.consume('k', LIMIT)).toBeNull()
      expect(await limits.consume('k', LIMIT)).toBe(60)
      await limits.giveBack?.('k', LIMIT)
      const record = { type: 'test', userId: null, sessionId: null, actorId: null, address: null }
      const rest = { userAgent: null, actingSessionId: null, detail: '{}', createdAt: new Date() }
      await db
        .insertInto('sallyport.audit')
        .values({ id: '1', ...record, ...rest })
        .execute()
      await (await database.open()).close()
      expect(await database.rows('select id, key, count from "rateLimit"')).toEqual([
        { id: '1', key: 'k', count: 7 },
      ])
      expect(await database.rows('select * from audit')).toEqual([{ what: 'theirs' }])
    },
  )

  test('has only the tables that other libraries know, all others apart from them', async () => {
    const database = await create()
    await database.open()
    const tables = await database.rows(
      database.url.startsWith('postgres')
        ? `select table_name as name from information_schema.tables where table_schema = 'public' order by 1`
        : `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'
            and name not like 'sallyport_%' order by 1`,
    )
    expect(tables.map(({ name }) => name)).toEqual(['account', 'session', 'user'])
  })
})

describe('PostgreSQL', () => {
  const { create } = kinds[1]

  test('puts internal tables into the configured schema, and none into the default one', async () => {
    const { url, rows } = await create()
    const opened = await openPostgres(url, { ...PATIENT, schema: 'auth_internal' })
    onTestFinished(opened.close)
    expect(await opened.limits.consume('k', LIMIT)).toBeNull()
    await opened.db.deleteFrom('sallyport.audit').execute()
    const schemas = await rows(`select distinct table_schema as name from information_schema.tables
      where table_name in ('audit', 'rate_limit', 'migration', 'revocation_log', 'service_token')`)
    expect(schemas).toEqual([{ name: 'auth_internal' }])
    const again = await openPostgres(url, { ...PATIENT, schema: 'auth_internal' })
    onTestFinished(again.close)
    expect(again.migrations.applied).toEqual([])
  })

  test('creates internal tables beside the tables of SQLite, which a move to PostgreSQL may have copied', async () => {
    const database = await create()
    await database.run(
      'create table sallyport_audit (id text); create table sallyport_revocation_log (id text)',
    )
    await database.open()
    const tables = await database.rows(`select table_name as name from information_schema.tables
      where table_schema = 'sallyport' and table_name in ('audit', 'revocation_log') order by 1`)
    expect(tables).toEqual([{ name: 'audit' }, { name: 'revocation_log' }])
  })

  test('keeps two schemas in one database apart, and both receive revocations', async () => {
    const database = await create()
    await (await database.open()).close()
    const { sessionId, userId } = await storeSession(database)
    const listeners = [vi.fn<() => void>(), vi.fn<() => void>()]
    const stores = []
    for (const [index, schema] of ['first_app', 'second_app'].entries()) {
      const mapping = { session: { columns: { lastAuthenticatedAt: 'createdAt' } } }
      const store = await openPostgresStore(database.url, { ...PATIENT, mapping, schema })
      onTestFinished(store.close)
      onTestFinished(store.revocations.subscribe({ sessionId, userId }, () => listeners[index]?.()))
      stores.push(store)
    }
    for (const { limits } of stores) expect(await limits?.consume('k', LIMIT)).toBeNull()
    for (const { limits } of stores) expect(await limits?.consume('k', LIMIT)).toBe(60)
    await takeLog(database)
    await database.run(`delete from session where id = ${literal(sessionId)}`)
    for (const listener of listeners) await until(() => listener.mock.calls.length > 0)
    for (const schema of ['sallyport', 'first_app', 'second_app'])
      expect(await database.rows(`select "sessionId" from ${schema}.revocation_log`)).toEqual([{ sessionId }])
  })

  test.each([
    '',
    'public',
    'pg_sallyport',
    'Sallyport',
    'a"b',
    'a.b',
    '1st',
    'information_schema',
    'a'.repeat(41),
  ])('rejects the schema %j', async (schema) => {
    await expect(async () => openPostgres('postgres://localhost/none', { schema })).rejects.toThrow(
      ConfigurationError,
    )
  })
})

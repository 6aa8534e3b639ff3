import pg from 'pg'
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { pgQuery } from '../../../../src/database/postgres/drivers/pg-connection.ts'
import { pgLookup } from '../../../../src/database/postgres/drivers/pg-lookup.ts'
import { testPostgres } from '../../../support/postgres.ts'

const server = await testPostgres()
const client = new pg.Client(await server.createDatabase('lookups'))
await client.connect()
afterAll(() => client.end())
const lookUp = pgLookup(client)

const describe = vi.spyOn(pg.Connection.prototype, 'describe')
beforeEach(() => void describe.mockClear())

const TYPES = `select $1::text, $2::text[], null::text, true, 7::int4, 8::int8, 1.5::float8, 1.5::numeric,
  timestamptz '2001-02-03 04:05:06.789Z', '{"a":1}'::jsonb from generate_series(1, 2)`

test('reads the values of every type like the driver, and asks for the columns once', async () => {
  const values = ['a "b"', ['c,d', '\\"']]
  const text = { text: TYPES, rowMode: 'array' as const }
  const { rows } = await pgQuery(client)({ ...text, values })
  expect(rows).toHaveLength(2)
  describe.mockClear()
  for (let run = 0; run < 3; run++)
    expect(await lookUp({ ...text, values, name: 'types' })).toMatchObject({ rows, rowCount: 2 })
  expect(describe).toHaveBeenCalledTimes(1)
})

test('asks each time without a name, because a pooler may switch the connection', async () => {
  for (let run = 0; run < 2; run++)
    expect(await lookUp({ text: 'select $1::int4', values: ['5'] })).toMatchObject({ rows: [[5]] })
  expect(describe).toHaveBeenCalledTimes(2)
})

test('values that the server rejects fail only that run, even the first', async () => {
  const number = { text: 'select $1::int4', name: 'number' }
  for (let run = 0; run < 2; run++) {
    await expect(lookUp({ ...number, values: ['five'] })).rejects.toMatchObject({ code: '22P02' })
    expect(await lookUp({ ...number, values: ['5'] })).toMatchObject({ rows: [[5]] })
  }
})

test('a statement whose columns have changed is rejected, and never read with the old columns', async () => {
  await client.query('create table item (first int4); insert into item values (1)')
  const all = { text: 'select * from item', name: 'items' }
  expect(await lookUp(all)).toMatchObject({ rows: [[1]] })
  await client.query('alter table item alter first type text')
  await expect(lookUp(all)).rejects.toMatchObject({ code: '0A000' })
  expect(await lookUp({ ...all, name: 'items_1' })).toMatchObject({ rows: [['1']] })
})

test('a run on a closed connection is rejected', async () => {
  const ended = new pg.Client(await server.createDatabase('ended'))
  await ended.connect()
  const running = pgLookup(ended)({ text: 'select pg_sleep(60)' }).catch((error: unknown) => error)
  ended.on('error', () => {})
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = 'ended' and pid <> pg_backend_pid()`,
  )
  onTestFinished(() => ended.end())
  await client.query('select pg_terminate_backend($1, 5000)', [rows[0]?.pid])
  expect(await running).toMatchObject({ code: '57P01' })
  await expect(pgLookup(ended)({ text: 'select 1' })).rejects.toBeInstanceOf(Error)
})

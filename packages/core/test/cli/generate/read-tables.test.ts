import type { AuthPlugin } from '@sallyport/core/auth'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { readAddedTables } from '../../../src/cli/generate/read-tables.ts'

const plain = { isNullable: false, hasDefault: false }
const nullable = { isNullable: true, hasDefault: false }
const defaulted = { isNullable: false, hasDefault: true }

test('the tables of plugins, as their migrations declare them', async () => {
  expect(await readAddedTables([emailPassword()])).toEqual({
    knownDevice: [
      { name: 'id', type: 'text', ...plain },
      { name: 'device', type: 'text', ...plain },
      { name: 'userId', type: 'text', ...plain },
      { name: 'expiresAt', type: 'timestamp', ...plain },
      { name: 'createdAt', type: 'timestamp', ...plain },
    ],
    verification: [
      { name: 'id', type: 'text', ...plain },
      { name: 'purpose', type: 'text', ...plain },
      { name: 'userId', type: 'text', ...plain },
      { name: 'email', type: 'text', ...plain },
      { name: 'expiresAt', type: 'timestamp', ...plain },
      { name: 'createdAt', type: 'timestamp', ...plain },
    ],
  })
})

test('every kind of column, in the order in which they were made', async () => {
  const things: AuthPlugin = {
    id: 'things',
    migrations: {
      async '0001_things'(schema, { timestamp, flag, no }) {
        await schema
          .createTable('thing')
          .addColumn('number', 'integer', (column) => column.primaryKey().autoIncrement())
          .addColumn('text', 'varchar(20)')
          .addColumn('flag', flag, (column) => column.notNull().defaultTo(no))
          .addColumn('at', timestamp)
          .execute()
        await schema.createIndex('thing_at').on('thing').column('at').execute()
      },
      async '0002_more'(schema, _types, db) {
        await schema
          .alterTable('thing')
          .addColumn('later', 'real', (column) => column.notNull().defaultTo(1))
          .execute()
        await schema.alterTable('thing').dropColumn('text').execute()
        await sql`create table pair (a text, b text, primary key (a, b))`.execute(db)
        await sql`create table another (id text not null)`.execute(db)
        await sql`analyze`.execute(db)
        await sql`create view thingView as select * from thing`.execute(db)
      },
    },
  }
  const tables = await readAddedTables([things])
  expect(Object.keys(tables)).toEqual(['another', 'pair', 'thing'])
  expect(tables).toEqual({
    another: [{ name: 'id', type: 'text', ...plain }],
    pair: [
      { name: 'a', type: 'text', ...plain },
      { name: 'b', type: 'text', ...plain },
    ],
    thing: [
      { name: 'number', type: 'integer', ...defaulted },
      { name: 'flag', type: 'flag', ...defaulted },
      { name: 'at', type: 'timestamp', ...nullable },
      { name: 'later', type: 'real', ...defaulted },
    ],
  })
})

test('the columns that plugins add to our tables, declared or by a migration', async () => {
  const profile: AuthPlugin = {
    id: 'profile',
    userColumns: {
      locale: { schema: z.string(), default: 'en' },
      credits: { type: 'number', schema: z.number().nullable() },
    },
    sessionColumns: {
      isShared: { type: 'flag', schema: z.boolean().nullable() },
      movedAt: { type: 'timestamp', schema: z.string().nullable() },
    },
    migrations: {
      async '0001_provider'(schema) {
        await schema.alterTable('account').addColumn('scope', 'text').execute()
      },
    },
  }
  expect(await readAddedTables([profile])).toEqual({
    account: [{ name: 'scope', type: 'text', ...nullable }],
    session: [
      { name: 'isShared', type: 'flag', ...nullable },
      { name: 'movedAt', type: 'timestamp', ...nullable },
    ],
    user: [
      { name: 'locale', type: 'text', ...defaulted },
      { name: 'credits', type: 'double precision', ...nullable },
    ],
  })
})

test('nothing where nothing is added', async () => {
  expect(await readAddedTables([{ id: 'quiet' }])).toEqual({})
})

test('a migration that fails says why', async () => {
  const broken: AuthPlugin = {
    id: 'broken',
    migrations: {
      async '0001_broken'(schema) {
        await schema.alterTable('nothing').addColumn('a', 'text').execute()
      },
    },
  }
  await expect(readAddedTables([broken])).rejects.toThrow('no such table: nothing')
})

import { join } from 'node:path'
import { type AuthPlugin, createAuth, defineAuth, type Migrations } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { migratePlugins } from '../../../src/database/schema/prepare-tables.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const directory = temporaryDirectory()

async function open(path = ':memory:') {
  const database = await openSqlite(path)
  onTestFinished(() => database.close())
  return database
}

/** Returns a migration that creates a table with this name. */
const creates =
  (table: string): Migrations[string] =>
  async (schema, { timestamp }) => {
    await schema
      .createTable(table)
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('at', timestamp)
      .execute()
  }
const fails: Migrations[string] = () => Promise.reject(new Error('a bug of the plugin'))

const plugin = (id: string, migrations: Migrations): AuthPlugin => ({ id, migrations })
const colors = plugin('colors', { '0001_color': creates('color') })
const shapes = plugin('shapes', { '0001_shape': creates('shape'), '0002_edge': creates('edge') })

type Opened = Awaited<ReturnType<typeof open>>
const tablesOf = async ({ db }: Opened) => (await db.introspection.getTables()).map(({ name }) => name)
/** Returns the tables of these plugins, sorted by name. */
const ownTables = async (database: Opened) =>
  (await tablesOf(database))
    .filter((name) => ['color', 'shape', 'edge', 'corner', 'note'].includes(name))
    .sort()

test("runs each plugin's migrations once, sorted by name", async () => {
  const database = await open()
  const late = plugin('late', { '0002_b': creates('edge'), '0001_a': creates('corner') })
  expect(await migratePlugins([colors, late], database)).toEqual({
    applied: ['colors 0001_color', 'late 0001_a', 'late 0002_b'],
  })
  expect(await ownTables(database)).toEqual(['color', 'corner', 'edge'])
  expect(await migratePlugins([colors, late], database)).toEqual({ applied: [] })
})

test('each plugin has a separate list, so two can use the same name', async () => {
  const database = await open()
  const one = plugin('one', { '0001_first': creates('color') })
  const two = plugin('two', { '0001_first': creates('shape') })
  expect(await migratePlugins([one, two], database)).toEqual({
    applied: ['one 0001_first', 'two 0001_first'],
  })
  expect(await ownTables(database)).toEqual(['color', 'shape'])
})

test("keeps a plugin's data while the plugin is removed and added again", async () => {
  const path = join(directory, 'comes-and-goes.db')
  const runs = [[colors], [colors, shapes], [colors], [], [shapes, colors]]
  const applied: string[][] = []
  for (const plugins of runs) {
    const database = await openSqlite(path)
    applied.push((await migratePlugins(plugins, database)).applied)
    if (plugins.includes(shapes)) {
      const shape = sql`insert into shape (id) values (${crypto.randomUUID()})`
      await shape.execute(database.db)
    }
    await database.close()
  }
  expect(applied).toEqual([['colors 0001_color'], ['shapes 0001_shape', 'shapes 0002_edge'], [], [], []])
  const { db } = await open(path)
  expect((await sql`select * from shape`.execute(db)).rows).toHaveLength(2)
})

test('runs only the new migrations of a plugin that has grown', async () => {
  const database = await open()
  await migratePlugins([colors], database)
  const grown = plugin('colors', { ...colors.migrations, '0002_note': creates('note') })
  expect(await migratePlugins([grown], database)).toEqual({ applied: ['colors 0002_note'] })
})

describe('a migration that fails', () => {
  const broken = plugin('broken', { '0001_note': creates('note'), '0002_bug': fails })

  test("rolls back its plugin's migrations and keeps those of earlier plugins", async () => {
    const database = await open()
    await expect(migratePlugins([colors, broken, shapes], database)).rejects.toThrow('a bug of the plugin')
    expect(await ownTables(database)).toEqual(['color'])
  })

  test("runs again once it is fixed, starting with its plugin's first migration", async () => {
    const database = await open()
    await expect(migratePlugins([broken], database)).rejects.toThrow()
    const mended = plugin('broken', { '0001_note': creates('note'), '0002_bug': creates('corner') })
    expect(await migratePlugins([mended], database)).toEqual({
      applied: ['broken 0001_note', 'broken 0002_bug'],
    })
  })

  test('stops the auth server from starting', async () => {
    const { config, definition, close } = await createTestAuth()
    onTestFinished(close)
    const { signingKeys } = definition
    const database = await open()
    const server = createAuth(defineAuth({ config, signingKeys, plugins: [broken] }), database, {
      pruneEverySeconds: 0,
    })
    await expect(server).rejects.toThrow('a bug of the plugin')
  })
})

test('creates no list for a plugin without migrations', async () => {
  const database = await open()
  const before = await tablesOf(database)
  expect(await migratePlugins([{ id: 'none' }], database)).toEqual({ applied: [] })
  expect(await tablesOf(database)).toEqual(before)
})

test('runs migrations once if several processes start at the same time', async () => {
  const path = join(directory, 'at-once.db')
  const opened = await Promise.all(Array.from({ length: 4 }, () => open(path)))
  const reports = await Promise.all(opened.map((database) => migratePlugins([colors, shapes], database)))
  expect(reports.flatMap(({ applied }) => applied).sort()).toEqual([
    'colors 0001_color',
    'shapes 0001_shape',
    'shapes 0002_edge',
  ])
})

test("adds a column to the table user, with a flag in the database's format", async () => {
  const database = await open()
  const columns = plugin('columns', {
    '0001_newsletter': (schema, { flag, yes }) =>
      schema
        .alterTable('user')
        .addColumn('newsletter', flag, (column) => column.notNull().defaultTo(yes))
        .execute(),
  })
  await migratePlugins([columns], database)
  const tables = await database.db.introspection.getTables()
  const user = tables.find(({ name }) => name === 'user')
  expect(user?.columns).toContainEqual(
    expect.objectContaining({ name: 'newsletter', isNullable: false, hasDefaultValue: true }),
  )
})

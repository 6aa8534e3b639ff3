import type { AuthPlugin } from '@sallyport/core/auth'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { preparePlugins } from '../../../src/database/schema/prepare-tables.ts'
import { databaseKinds } from '../../support/database-kinds.ts'

const colors: AuthPlugin = {
  id: 'colors',
  migrations: {
    async '0001_color'(schema, { timestamp }) {
      await schema
        .createTable('color')
        .addColumn('id', 'text', (column) => column.notNull().primaryKey())
        .addColumn('at', timestamp)
        .execute()
    },
    async '0002_name'(schema) {
      await schema.alterTable('color').addColumn('name', 'text').execute()
    },
  },
}

const rawTable: AuthPlugin = {
  id: 'raw',
  migrations: {
    async '0001_raw'(_schema, _types, db) {
      await sql`create table raw (id text)`.execute(db)
    },
  },
}

describe.each(await databaseKinds())('with migrate: false in $name', (kind) => {
  async function open() {
    const database = await kind.create()
    await (await database.open()).close()
    const { db, types } = await database.open({ migrate: false })
    const prepare = (...plugins: AuthPlugin[]) => preparePlugins(plugins, { db, types, migrates: false })
    return { ...database, prepare }
  }

  test("checks the tables of plugins, which the app's tool creates", async () => {
    const { prepare, run } = await open()
    await expect(prepare(colors)).rejects.toThrow(
      'Missing in the database: table color. Run "sallyport generate',
    )
    await run('create table color (id text primary key, at text)')
    await expect(prepare(colors)).rejects.toThrow('Missing in the database: column color.name. Run')
    await run('alter table color add column name text')
    await prepare(colors)
  })

  test('rejects a plugin whose tables can not be read from its migrations', async () => {
    const { prepare } = await open()
    await expect(prepare(rawTable)).rejects.toThrow("raw 0001_raw changes tables in a way that can't be read")
  })
})

import { ConfigurationError } from '@sallyport/core'
import type { AuthPlugin } from '@sallyport/core/auth'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Migrations, migrate } from '../../../src/database/schema/migrations.ts'
import { migratePlugins } from '../../../src/database/schema/prepare-tables.ts'
import { databaseKinds, type OpenDatabase, type TestDatabase } from '../../support/database-kinds.ts'
import { literal, storeSession } from '../../support/stored-sessions.ts'
import { until } from '../../support/until.ts'

/** The migrations of later releases: they only add. */
const LATER = {
  async '0002_device'(schema, { timestamp }) {
    await schema.alterTable('session').addColumn('device', 'text').execute()
    await schema.alterTable('sallyport.audit').addColumn('device', 'text').execute()
    await schema.createTable('device').addColumn('id', 'text').addColumn('at', timestamp).execute()
  },
  async '0003_more'(schema) {
    await schema.alterTable('user').addColumn('more', 'text').execute()
  },
} satisfies Migrations

const OWN: Migrations = { async '0001_tables'() {} }

const pluginWith = (migrations: Migrations): AuthPlugin => ({ id: 'notes', endpoints: {}, migrations })
const NOTES = {
  async '0001_note'(schema) {
    await schema.createTable('note').addColumn('id', 'text').execute()
  },
  async '0002_text'(schema) {
    await schema.alterTable('note').addColumn('text', 'text').execute()
  },
  async '0003_more'(schema) {
    await schema.alterTable('note').addColumn('more', 'text').execute()
  },
} satisfies Migrations

describe.each(await databaseKinds({}, { poolSize: 2 }))('$name', ({ name, create }) => {
  /** Opens a database that a later release migrated. */
  async function openAhead(migrations: Migrations): Promise<{ database: TestDatabase; later: OpenDatabase }> {
    const database = await create()
    const later = await database.open()
    const list = { owner: null, migrations: { ...OWN, ...migrations } }
    await migrate(later.db, later.types, list)
    return { database, later }
  }

  test('this release runs on a database that is one migration ahead', async () => {
    const { database } = await openAhead({ '0002_device': LATER['0002_device'] })
    const opened = await database.open()
    expect(opened.migrations.applied).toEqual([])
    const { sessionId, userId } = await storeSession(database)
    expect(await opened.sessions.findSession({ sessionId, userId })).toMatchObject({ id: sessionId })
    const listener = vi.fn<() => void>()
    onTestFinished(opened.revocations.subscribe({ sessionId, userId }, listener))
    await until(() => name === 'PostgreSQL' || listener.mock.calls.length > 0)
    listener.mockClear()
    await database.run(`delete from session where id = ${literal(sessionId)}`)
    await until(() => listener.mock.calls.length > 0)
    expect(await opened.limits.consume('k', { points: 1, duration: 60 })).toBeNull()
    const record = { type: 'test', userId, sessionId, actorId: null, address: null, userAgent: null }
    await opened.db
      .insertInto('sallyport.audit')
      .values({ id: 'one', ...record, actingSessionId: null, detail: '{}', createdAt: new Date() })
      .execute()
    expect(await database.rows(`select id from session where id = ${literal(sessionId)}`)).toEqual([])
  })

  test('the later release finds its migration applied after this one ran', async () => {
    const { database, later } = await openAhead({ '0002_device': LATER['0002_device'] })
    await database.open()
    const list = { owner: null, migrations: { ...OWN, ...LATER } }
    expect((await migrate(later.db, later.types, list)).applied).toEqual(['0003_more'])
  })

  test('rejects a database that is two migrations ahead, with both versions and what to do', async () => {
    const { database } = await openAhead(LATER)
    const opening = database.open()
    await expect(opening).rejects.toThrow(ConfigurationError)
    await expect(opening).rejects.toThrow(
      /0003_more.*this release only knows 0001_tables\. Deploy the newer release/,
    )
  })

  test('rejects the list of a plugin that is two migrations ahead', async () => {
    const opened = await (await create()).open()
    const first = { '0001_note': NOTES['0001_note'] }
    await migratePlugins([pluginWith({ ...first, '0002_text': NOTES['0002_text'] })], opened)
    expect(await migratePlugins([pluginWith(first)], opened)).toEqual({ applied: [] })
    await migratePlugins([pluginWith(NOTES)], opened)
    await expect(migratePlugins([pluginWith(first)], opened)).rejects.toThrow(/0003_more.*notes_migration/)
  })

  test('adopts its tables after the records of the migrations were dropped', async () => {
    const database = await create()
    const opened = await database.open()
    const plugins = [pluginWith(NOTES)]
    await migratePlugins(plugins, opened)
    const ada = await storeSession(database)
    for (const table of ['migration', 'migration_lock', 'notes_migration', 'notes_migration_lock'])
      await opened.db.schema.dropTable(`sallyport.${table}`).execute()
    const again = await database.open()
    await migratePlugins(plugins, again)
    expect(await again.sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
  })

  test.runIf(name === 'SQLite')(
    'adopts an index of a table that another tool wrote in upper case',
    async () => {
      const database = await create()
      const opened = await database.open()
      await database.run('alter table session rename to renamed')
      await database.run('alter table renamed rename to "Session"')
      await opened.db.schema.dropTable('sallyport.migration').execute()
      expect((await database.open()).migrations.applied).not.toEqual([])
    },
  )

  const CORE_TABLES = ['session', 'account', 'user']

  test('creates all tables again that another tool has dropped', async () => {
    const database = await create()
    const opened = await database.open()
    const plugins = [pluginWith(NOTES)]
    await migratePlugins(plugins, opened)
    for (const table of [...CORE_TABLES, 'note']) await opened.db.schema.dropTable(table).execute()
    const again = await database.open()
    expect(again.migrations.applied).toEqual(['0001_tables'])
    const ada = await storeSession(database)
    expect(await again.sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
    expect((await migratePlugins(plugins, again)).applied).toHaveLength(3)
    const notes = again.db.$extendTables<{ note: { id: string; text: string; more: string } }>()
    expect(await notes.selectFrom('note').select(['id', 'text', 'more']).execute()).toEqual([])
    expect((await database.open()).migrations.applied).toEqual([])
    expect(await migratePlugins(plugins, again)).toEqual({ applied: [] })
  })

  test('creates no tables again that a newer release may have dropped', async () => {
    const { database, later } = await openAhead({ '0002_device': LATER['0002_device'] })
    for (const table of CORE_TABLES) await later.db.schema.dropTable(table).execute()
    const { sessions } = await database.open()
    const findSession = async () => sessions.findSession({ sessionId: 's', userId: 'u' })
    await expect(findSession()).rejects.toThrow(name === 'PostgreSQL' ? 'cannot be checked' : 'no such table')
    await expect(later.db.selectFrom('account').selectAll().execute()).rejects.toThrow(/account/)
  })

  test('a later release adopts the columns that it added', async () => {
    const { database, later } = await openAhead(LATER)
    await later.db.schema.dropTable('sallyport.migration').execute()
    const list = { owner: null, migrations: { ...OWN, ...LATER } }
    expect((await migrate(later.db, later.types, list)).applied).toHaveLength(3)
    expect(await database.rows('select device from session')).toEqual([])
  })

  test('rejects an index of another table that has the name of ours, and changes nothing', async () => {
    const database = await create()
    await database.run('create table old_user (email text not null)')
    await database.run('create unique index user_email_key on old_user (email)')
    const opening = database.open()
    await expect(opening).rejects.toThrow(ConfigurationError)
    await expect(opening).rejects.toThrow(/index user_email_key is on the table old_user/)
    await expect(database.rows('select * from session')).rejects.toThrow()
    await database.run('drop index user_email_key')
    await database.open()
    await database.run('drop index user_email_key')
  })

  test('rejects a table of another library that has the name of ours, and changes nothing', async () => {
    const database = await create()
    await database.run('create table account (id text primary key, "userId" text)')
    const opening = database.open()
    await expect(opening).rejects.toThrow(ConfigurationError)
    await expect(opening).rejects.toThrow(/account exists, but without the columns accountId, providerId/)
    await expect(database.rows('select * from session')).rejects.toThrow()
  })
})

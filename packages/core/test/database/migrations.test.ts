import { join } from 'node:path'
import { openSqlite } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, test } from 'vitest'
import { type Child, startFixture } from '../support/child-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const directory = temporaryDirectory()
const children: Child[] = []
const CORE = ['0001_tables']
afterEach(() => {
  for (const child of children.splice(0)) child.kill()
})

function schemaOf(path: string): unknown {
  const database = new Database(path, { readonly: true })
  const schema = database
    .prepare("select type, name, sql from sqlite_schema where name not like 'sqlite_%'")
    .all()
  database.close()
  return schema
}

test('a new file gets all migrations, and the next start none', async () => {
  const path = join(directory, 'twice.db')
  const first = await openSqlite(path)
  await first.close()
  const schema = schemaOf(path)
  const second = await openSqlite(path)
  await second.close()
  expect(first.migrations.applied).toEqual(CORE)
  expect(second.migrations.applied).toEqual([])
  expect(schemaOf(path)).toEqual(schema)
})

test('what is stored survives the next start', async () => {
  const path = join(directory, 'kept.db')
  const first = await openSqlite<{ note: { text: string } }>(path)
  await first.db.schema.createTable('note').addColumn('text', 'text').execute()
  await first.db.insertInto('note').values({ text: 'kept' }).execute()
  await first.close()
  const second = await openSqlite<{ note: { text: string } }>(path)
  expect(await second.db.selectFrom('note').select('text').execute()).toEqual([{ text: 'kept' }])
  await second.close()
})

test('an up-to-date file opens while another process writes to it', async () => {
  const path = join(directory, 'locked.db')
  await (await openSqlite(path)).close()
  const writer = startFixture('holdWriteLock', path)
  children.push(writer)
  expect(await writer.heard()).toBe('held')
  const opened = await openSqlite(path)
  expect(opened.migrations.applied).toEqual([])
  await opened.close()
})

describe('several that start at once migrate once', () => {
  test('within one process', async () => {
    const path = join(directory, 'one-process.db')
    const opened = await Promise.all(Array.from({ length: 4 }, () => openSqlite(path)))
    expect(opened.flatMap(({ migrations }) => migrations.applied)).toEqual(CORE)
    await Promise.all(opened.map(({ close }) => close()))
  })

  test('in three processes', async () => {
    const path = join(directory, 'processes.db')
    for (let i = 0; i < 3; i++) children.push(startFixture('openDatabase', path))
    for (const child of children) expect(await child.heard()).toBe('ready')
    for (const child of children) child.tell('go')
    const applied = await Promise.all(children.map((child) => child.heard()))
    expect(applied.flat()).toEqual(CORE)
  })
})

test('a migration that fails leaves nothing behind', async () => {
  const path = join(directory, 'failed.db')
  const before = new Database(path)
  before.exec('create table account (id text)')
  before.close()
  await expect(openSqlite(path)).rejects.toThrow(/account/)
  expect(schemaOf(path)).not.toContainEqual(expect.objectContaining({ name: 'user' }))
  const mended = new Database(path)
  mended.exec('drop table account')
  mended.close()
  const opened = await openSqlite(path)
  expect(opened.migrations.applied).toEqual(CORE)
  await opened.close()
})

test.each([
  ['session', 'session_expiresAt', 'expiresAt'],
  ['session', 'session_userId', 'userId'],
  ['account', 'account_userId', 'userId'],
  ['audit', 'audit_createdAt', 'createdAt'],
  ['audit', 'audit_userId', 'userId'],
  ['serviceToken', 'serviceToken_expiresAt', 'expiresAt'],
  ['serviceCall', 'serviceCall_expiresAt', 'expiresAt'],
])('%s has the index %s on %s', async (table, index, column) => {
  const path = join(directory, `${index}.db`)
  await (await openSqlite(path)).close()
  expect(schemaOf(path)).toContainEqual({
    type: 'index',
    name: index,
    sql: `CREATE INDEX "${index}" on "${table}" ("${column}")`,
  })
})

import { join } from 'node:path'
import { openSqlite } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, test } from 'vitest'
import { type Child, startFixture } from '../../support/child-process.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

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

test('runs every migration on a new file, and none on the next start', async () => {
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

test('keeps stored data across restarts', async () => {
  const path = join(directory, 'kept.db')
  const first = await openSqlite<{ note: { text: string } }>(path)
  await first.db.schema.createTable('note').addColumn('text', 'text').execute()
  await first.db.insertInto('note').values({ text: 'kept' }).execute()
  await first.close()
  const second = await openSqlite<{ note: { text: string } }>(path)
  expect(await second.db.selectFrom('note').select('text').execute()).toEqual([{ text: 'kept' }])
  await second.close()
})

test('opens an up-to-date file while another process writes to it', async () => {
  const path = join(directory, 'locked.db')
  await (await openSqlite(path)).close()
  const writer = startFixture('holdWriteLock', path)
  children.push(writer)
  expect(await writer.nextMessage()).toBe('held')
  const opened = await openSqlite(path)
  expect(opened.migrations.applied).toEqual([])
  await opened.close()
})

describe('runs once if several start at the same time', () => {
  test('within one process', async () => {
    const path = join(directory, 'one-process.db')
    const opened = await Promise.all(Array.from({ length: 4 }, () => openSqlite(path)))
    expect(opened.flatMap(({ migrations }) => migrations.applied)).toEqual(CORE)
    await Promise.all(opened.map(({ close }) => close()))
  })

  test('in three processes', async () => {
    const path = join(directory, 'processes.db')
    for (let i = 0; i < 3; i++) children.push(startFixture('openDatabase', path))
    for (const child of children) expect(await child.nextMessage()).toBe('ready')
    for (const child of children) child.tell('go')
    const applied = await Promise.all(children.map((child) => child.nextMessage()))
    expect(applied.flat()).toEqual(CORE)
  })
})

test('rolls back a failed migration', async () => {
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
  ['sallyport_audit', 'sallyport_audit_createdAt', 'createdAt'],
  ['sallyport_audit', 'sallyport_audit_userId', 'userId'],
  ['sallyport_service_token', 'sallyport_service_token_expiresAt', 'expiresAt'],
  ['sallyport_service_call', 'sallyport_service_call_expiresAt', 'expiresAt'],
])('%s has the index %s on %s', async (table, index, column) => {
  const path = join(directory, `${index}.db`)
  await (await openSqlite(path)).close()
  expect(schemaOf(path)).toContainEqual({
    type: 'index',
    name: index,
    sql: `CREATE INDEX "${index}" on "${table}" ("${column}")`,
  })
})

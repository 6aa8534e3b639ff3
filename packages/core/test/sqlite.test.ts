import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigurationError, sessionsOf } from '@sallyport/core'
import { openSqlite } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { afterEach, describe, expect, test } from 'vitest'
import { reasonOf } from './support/reason-of.ts'
import { temporaryDirectory } from './support/temporary-directory.ts'

const directory = temporaryDirectory()
const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const { close } of opened.splice(0)) await close()
})

async function open(url: string) {
  const database = await openSqlite(url)
  opened.push(database)
  return database
}

const permissionsOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe('a missing file', () => {
  test('is created with its directory, readable only by its owner, like the files next to it', async () => {
    const path = join(directory, 'new', 'deep', 'app.db')
    const { db } = await open(path)
    await sql`select 1`.execute(db)
    for (const suffix of ['', '-wal', '-shm']) expect(permissionsOf(`${path}${suffix}`)).toBe('600')
  })

  test("that can't be created is an error", async () => {
    writeFileSync(join(directory, 'file'), '')
    await expect(open(join(directory, 'file', 'app.db'))).rejects.toThrow()
  })
})

test('an existing file keeps its permissions', async () => {
  const path = join(directory, 'shared.db')
  writeFileSync(path, '', { mode: 0o640 })
  await open(path)
  expect(permissionsOf(path)).toBe('640')
})

test("a file that SQLite can't open is an error with its path", async () => {
  const path = join(directory, 'folder.db')
  mkdirSync(path)
  const cause = { code: 'SQLITE_CANTOPEN' }
  await expect(open(path)).rejects.toMatchObject({ message: expect.stringContaining(path), cause })
})

test("a file that isn't a database is an error", async () => {
  const path = join(directory, 'text.db')
  writeFileSync(path, 'not a database '.repeat(100))
  await expect(open(path)).rejects.toThrow(/not a database/)
})

describe('a URL', () => {
  test.each([
    ['a path', (name: string) => join(directory, name)],
    ['file: and a path', (name: string) => `file:${join(directory, name)}`],
    ['file:// and a path', (name: string) => `file://${join(directory, name)}`],
  ])('may be %s', async (_name, url) => {
    await open(url('url.db'))
    expect(existsSync(join(directory, 'url.db'))).toBe(true)
  })

  test.each([
    '',
    'file:',
    'file://',
    'postgres://localhost/app',
    'mysql://localhost',
    'https://example.com/app.db',
  ])('rejects %j', async (url) => {
    await expect(open(url)).rejects.toThrow(ConfigurationError)
  })

  test.each([0, -5, Number.NaN, 2 ** 31])('rejects a busyTimeoutMs of %d', async (busyTimeoutMs) => {
    await expect(openSqlite(':memory:', { busyTimeoutMs })).rejects.toThrow(/busyTimeoutMs/)
  })

  test(':memory: creates no file and is empty every time', async () => {
    const one = await open(':memory:')
    const other = await open(':memory:')
    await sql`create table note (text)`.execute(one.db)
    await expect(sql`select * from note`.execute(other.db)).rejects.toThrow(/no such table/)
    expect(existsSync(':memory:')).toBe(false)
  })
})

describe('a file that another connection locked before its first use here', () => {
  /** Creates a file in SQLite's default mode, with an open transaction. */
  function lockedFile(name: string): { path: string; other: Database.Database } {
    const path = join(directory, name)
    const other = new Database(path)
    other.exec('create table note (text); begin exclusive')
    return { path, other }
  }

  test('waits without blocking other work, and opens once the lock is released', async () => {
    const { path, other } = lockedFile('released.db')
    const opening = open(path)
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
    other.exec('commit')
    other.close()
    expect((await opening).migrations.applied).toEqual(['0001_tables'])
  })

  test("fails if the lock isn't released in time", async () => {
    const { path, other } = lockedFile('locked.db')
    await expect(openSqlite(path, { busyTimeoutMs: 1 })).rejects.toMatchObject({ code: 'SQLITE_BUSY' })
    other.close()
  })
})

test.each([
  ['journal_mode', 'wal'],
  ['synchronous', 2],
  ['foreign_keys', 1],
  ['busy_timeout', 0],
])('the connection that writes has %s = %s', async (name, value) => {
  mkdirSync(join(directory, 'pragmas'), { recursive: true })
  const { db } = await open(join(directory, 'pragmas', 'app.db'))
  const { rows } = await sql<Record<string, unknown>>`pragma ${sql.raw(name)}`.execute(db)
  expect(Object.values(rows[0] ?? {})).toEqual([value])
})

test('returns a handle with the store and the feed, usable as the db of a context', async () => {
  const { db, sessions } = await open(':memory:')
  expect(sessionsOf(db)).toBe(sessions)
})

test('finds and writes nothing after it is closed', async () => {
  const { db, sessions, close } = await openSqlite(join(directory, 'closed.db'))
  await close()
  await close()
  expect(() => sessions.findSession({ sessionId: 's', userId: 'u' })).toThrow(/not open/)
  expect(await reasonOf(sessions.findToken('s'))).toBe('SESSIONS_UNAVAILABLE')
  expect(await reasonOf(db.deleteFrom('session').execute())).toBe('SESSIONS_UNAVAILABLE')
})

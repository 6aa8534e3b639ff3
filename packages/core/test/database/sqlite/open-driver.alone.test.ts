import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { ConfigurationError } from '@sallyport/core'
import { openSqlite, openSqliteStore, type SqliteClient } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { reasonOf } from '../../support/reason-of.ts'
import { SQLITE_CLIENTS } from '../../support/sqlite-clients.ts'
import { storeSession } from '../../support/stored-sessions.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const directory = temporaryDirectory()
const MAPPING = { session: { columns: { version: 'version' } } }
let files = 0
const newPath = () => join(directory, `${files++}.db`)

const clients = Object.entries(SQLITE_CLIENTS)

test.each(clients)('%s: the file keeps its journal mode, and the client stays open', async (_name, open) => {
  for (const mode of ['delete', 'wal']) {
    const path = newPath()
    const app = open(path)
    onTestFinished(app.close)
    await app.run(`pragma journal_mode = ${mode}`)
    const database = await openSqlite({ client: app.client })
    const store = await openSqliteStore({ client: app.client }, { mapping: MAPPING })
    await database.limits.consume('a', { points: 1, duration: 1 })
    await database.close()
    await store.close()
    expect(await app.rows('pragma journal_mode')).toEqual([{ journal_mode: mode }])
    expect(await app.rows('select count(*) as users from user')).toEqual([{ users: 0 }])
  }
})

test.each(clients)('%s: a database in memory is the one of the app', async (_name, open) => {
  const app = open(':memory:')
  onTestFinished(app.close)
  const { db, close } = await openSqlite({ client: app.client })
  await app.run('create table note (text); insert into note values (1)')
  expect((await sql`select * from note`.execute(db)).rows).toEqual([{ text: 1 }])
  await close()
  expect(await app.rows('select * from note')).toEqual([{ text: 1 }])
})

test.each(clients)('%s: a database in memory is unavailable after either is closed', async (_name, open) => {
  for (const isOurs of [true, false]) {
    const app = open(':memory:')
    const { db, sessions, close } = await openSqlite({ client: app.client })
    const lookUp = async () => sessions.findSession({ sessionId: 's', userId: 'u' })
    expect(await lookUp()).toBeNull()
    await (isOurs ? close() : app.close())
    await expect(lookUp()).rejects.toThrow()
    expect(await reasonOf(db.deleteFrom('session').execute())).toBe('SESSIONS_UNAVAILABLE')
    if (isOurs) await app.close()
  }
})

test('a mapped file that is opened by its URL keeps its journal mode', async () => {
  const path = newPath()
  const app = new Database(path)
  onTestFinished(() => void app.close())
  await (await openSqlite({ client: app })).close()
  await (await openSqliteStore(path, { mapping: MAPPING })).close()
  expect(app.pragma('journal_mode', { simple: true })).toBe('delete')
})

test('with migrate: false, a file keeps its journal mode', async () => {
  const path = newPath()
  const app = new Database(path)
  onTestFinished(() => void app.close())
  await (await openSqlite({ client: app })).close()
  for (const source of [path, { client: app }]) {
    const { revocations, close } = await openSqlite(source, { migrate: false })
    expect(app.pragma('journal_mode', { simple: true })).toBe('delete')
    const ada = await storeSession({ run: async (sql) => void app.exec(sql) })
    const listener = vi.fn<() => void>()
    onTestFinished(revocations.subscribe(ada, listener))
    await eventually(() => expect(listener).toHaveBeenCalledOnce())
    app.prepare('delete from session where id = ?').run(ada.sessionId)
    await eventually(() => expect(listener).toHaveBeenCalledTimes(2))
    await close()
  }
})

test('a client that reads integers as text is a configuration error', async () => {
  const client = createClient({ url: `file:${newPath()}`, intMode: 'string' })
  onTestFinished(() => client.close())
  await expect(openSqlite({ client })).rejects.toThrow("Set intMode to 'number'")
})

test('a value that is no client is a configuration error', async () => {
  const client = JSON.parse('{}')
  await expect(openSqlite({ client })).rejects.toThrow(ConfigurationError)
})

test.each([
  ['@libsql/client', '-info'],
  ['@libsql/client', '-client_wal_index'],
  ['libsql', '-info'],
] as const)('%s: an embedded replica, which has a file %s, is rejected', async (name, suffix) => {
  const path = newPath()
  const app = SQLITE_CLIENTS[name](path)
  onTestFinished(app.close)
  await app.run('create table note (text)')
  writeFileSync(`${path}${suffix}`, '{}')
  const { client } = app
  await expect(openSqlite({ client })).rejects.toThrow(ConfigurationError)
  await expect(openSqliteStore({ client }, { mapping: MAPPING })).rejects.toThrow('embedded replica')
})

test('in delete mode, reads with @libsql/client before 0.18 use one connection', async () => {
  const client = createClient({ url: `file:${newPath()}` })
  onTestFinished(() => client.close())
  let connections = 0
  const old: SqliteClient = {
    protocol: 'file',
    execute: (statement) => client.execute(statement),
    // It abandons the connection of each transaction, and can't roll back one that is closed.
    async transaction(mode) {
      connections++
      const transaction = await client.transaction(mode)
      return {
        get closed() {
          return transaction.closed
        },
        execute: (statement) => transaction.execute(statement),
        executeMultiple: (sql) => transaction.executeMultiple(sql),
        commit: () => transaction.commit(),
        rollback: () => (transaction.closed ? Promise.reject(new Error('closed')) : transaction.rollback()),
        close: () => transaction.close(),
      }
    },
  }
  const { sessions, close } = await openSqlite({ client: old })
  onTestFinished(close)
  const ada = await storeSession({ run: (sql) => client.executeMultiple(sql) })
  const opened = connections
  for (let reads = 0; reads < 5; reads++)
    expect(await sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
  expect(connections).toBe(opened)
})

test("a client that doesn't read its own writes is a configuration error", async () => {
  const [written, read] = [newPath(), newPath()].map((path) => createClient({ url: `file:${path}` }))
  if (written === undefined || read === undefined) throw new Error('No clients')
  onTestFinished(() => {
    written.close()
    read.close()
  })
  for (const client of [written, read]) {
    await client.execute('pragma journal_mode = wal')
    await (await openSqlite({ client })).close()
  }
  // Reads an old copy outside transactions, like an embedded replica, which is always in WAL mode.
  const replica: SqliteClient = {
    protocol: 'file',
    execute: (statement) => read.execute(statement),
    transaction: (mode) => written.transaction(mode),
  }
  await expect(openSqlite({ client: replica })).rejects.toThrow('revoked sessions')
  await expect(openSqliteStore({ client: replica }, { mapping: MAPPING })).rejects.toThrow('revoked sessions')
  expect((await written.execute('select * from sallyport_rate_limit')).rows).toEqual([])
})

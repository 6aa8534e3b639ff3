import { join } from 'node:path'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { sessionSql } from '../../../src/database/find-session-sql.ts'
import { createBusyRetry } from '../../../src/database/sqlite/connections/errors.ts'
import { toConnection } from '../../../src/database/sqlite/connections/to-connection.ts'
import { sqliteLookups } from '../../../src/database/sqlite/find-session.ts'
import type { SessionReader } from '../../../src/session/session.ts'
import { type Child, startFixture } from '../../support/child-process.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const path = join(temporaryDirectory(), 'app.db')
const auth = await createTestAuth({ databaseUrl: path })
const { userId } = await auth.createUser()
afterAll(() => auth.close())

let ada: TestSession
let bob: TestSession
let reader: Database.Database
let sessions: SessionReader
/** The first words of the statements that the reader ran. */
let statements: string[]

beforeEach(async () => {
  ada = await auth.signIn({ userId })
  bob = await auth.signIn({ userId })
  statements = []
  const verbose = (statement?: unknown) =>
    statements.push(/^\S+/.exec(String(statement).trim())?.[0].toLowerCase() ?? '')
  reader = new Database(path, { readonly: true, verbose })
  sessions = sqliteLookups(toConnection(reader), {
    sql: sessionSql('sqlite'),
    retryWhileBusy: createBusyRetry(5_000),
  })
})
afterEach(() => {
  reader.close()
})

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
const idOf = async (key: { sessionId: string; userId: string }) =>
  (await sessions.findSession(key))?.id ?? null

/** Changes a session row directly, because the library would never write this value. */
async function withWriter(change: (writer: Database.Database) => void): Promise<void> {
  const writer = new Database(path)
  change(writer)
  writer.close()
}

describe('lookups of one turn of the event loop', () => {
  /** Runs a turn with several lookups, so the lookups of the next turn share a transaction. */
  async function makeBusy(): Promise<void> {
    await Promise.all([idOf(ada), idOf(bob)])
    await nextTurn()
    statements.length = 0
  }

  test('share one read transaction if there are several, turn after turn', async () => {
    await makeBusy()
    for (let turn = 0; turn < 3; turn++) {
      const found = await Promise.all([idOf(ada), idOf(bob), idOf({ sessionId: 'none', userId })])
      expect(found).toEqual([ada.sessionId, bob.sessionId, null])
      expect(statements.splice(0)).toEqual(['begin', 'select', 'select', 'select', 'commit'])
    }
  })

  test('leave no transaction open', async () => {
    await makeBusy()
    const found = Promise.all([idOf(ada), idOf(bob)])
    expect(reader.inTransaction).toBe(false)
    await found
    expect(reader.inTransaction).toBe(false)
  })

  test('need no transaction if they arrive one at a time', async () => {
    for (let turn = 0; turn < 3; turn++) {
      expect(await idOf(ada)).toBe(ada.sessionId)
      await nextTurn()
    }
    expect(statements.filter((word) => word !== 'select')).toEqual([])
  })

  test('see every write that was committed before they were called', async () => {
    await makeBusy()
    const first = idOf(bob)
    await withWriter((writer) => writer.prepare('delete from session where id = ?').run(ada.sessionId))
    expect(await Promise.all([first, idOf(ada)])).toEqual([bob.sessionId, null])
  })

  test('see a write of the write queue as soon as it is acknowledged', async () => {
    for (let i = 0; i < 10; i++) {
      const carol = await auth.signIn({ userId })
      expect(await idOf(carol)).toBe(carol.sessionId)
      await auth.revoke(carol)
      expect(await idOf(carol)).toBeNull()
      await Promise.all([idOf(ada), idOf(bob)])
    }
  })

  /** Returns whether each lookup fails, alone or in a batch. */
  const failures = async (lookups: Promise<unknown>[]) =>
    (await Promise.allSettled(lookups)).map(({ status }) => status === 'rejected')

  test.each([
    ['one by one', async () => {}],
    ['together', makeBusy],
  ])('all fail when the connection is closed, arriving %s', async (_name, given) => {
    await given()
    reader.close()
    expect(await failures([idOf(ada), idOf(bob)])).toEqual([true, true])
  })

  test('leave no transaction open when one of them fails', async () => {
    await makeBusy()
    const malformed = JSON.parse('{"sessionId":{},"userId":"x"}')
    expect(await failures([idOf(ada), idOf(malformed)])).toEqual([false, true])
    expect(reader.inTransaction).toBe(false)
    expect(await Promise.all([idOf(ada), idOf(bob)])).toEqual([ada.sessionId, bob.sessionId])
  })

  test('return in memory too during an open transaction on the only connection', async () => {
    const memory = await createTestAuth()
    const carol = await memory.signIn()
    const twice = () => Promise.all([1, 2].map(() => memory.database.sessions.findSession(carol)))
    await twice()
    await nextTurn()
    await memory.db.transaction().execute(async (trx) => {
      await trx.deleteFrom('account').execute()
      expect(await twice()).toEqual(Array(2).fill(expect.objectContaining({ id: carol.sessionId })))
    })
    await memory.close()
  })

  test('all fail if the connection is closed while they wait', async () => {
    await makeBusy()
    const lookups = [idOf(ada), idOf(bob)]
    reader.close()
    expect(await failures(lookups)).toEqual([true, true])
  })
})

describe('while another process holds the write lock', () => {
  let writer: Child
  beforeEach(async () => {
    writer = startFixture('holdWriteLock', path)
    expect(await writer.nextMessage()).toBe('held')
  })
  afterEach(() => writer.kill())

  test('Step 2 returns what was committed before', async () => {
    const found = await Promise.all([auth.database.sessions.findSession(ada), idOf(ada), idOf(bob)])
    expect(found).toEqual([expect.objectContaining({ id: ada.sessionId }), ada.sessionId, bob.sessionId])
  })
})

test('the first lookup waits for another connection that writes, also if a table is new to the reader', async () => {
  const file = join(temporaryDirectory(), 'new.db')
  const writer = new Database(file)
  writer.exec('create table note (id text)')
  const stale = new Database(file, { readonly: true, timeout: 0 })
  onTestFinished(() => {
    stale.close()
    writer.close()
  })
  stale.prepare('select id from note').all()
  const { sql: schema } = reader
    .prepare("select group_concat(sql, ';') as sql from sqlite_schema where name in ('user', 'session')")
    .get() as { sql: string }
  writer.exec(schema)
  writer.exec('begin exclusive')
  const lookups = sqliteLookups(toConnection(stale), {
    sql: sessionSql('sqlite'),
    retryWhileBusy: createBusyRetry(60_000),
  })
  const found = lookups.findSession(ada)
  setImmediate(() => writer.exec('commit'))
  expect(await found).toBeNull()
})

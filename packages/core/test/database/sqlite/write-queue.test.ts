import { join } from 'node:path'
import { openSqlite } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { reasonOf } from '../../support/reason-of.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

interface Tables {
  note: { id: number; text: string | null; at: Date | string | null; done: boolean | number | null }
}

const BUSY_TIMEOUT_MS = 5_000
const path = join(temporaryDirectory(), 'app.db')
const { db, close } = await openSqlite<Tables>(path, { busyTimeoutMs: BUSY_TIMEOUT_MS })
await db.schema
  .createTable('note')
  .addColumn('id', 'integer', (column) => column.primaryKey())
  .addColumn('text', 'text', (column) => column.unique())
  .addColumn('at', 'text')
  .addColumn('done', 'integer')
  .execute()

/** Another connection to the same file, like that of another process. */
const other = new Database(path, { timeout: 0 })
afterAll(async () => {
  other.close()
  await close()
})
beforeEach(() => {
  other.exec('delete from note')
})

const insert = (text: string, trx: Pick<typeof db, 'insertInto'> = db) =>
  trx
    .insertInto('note')
    .values({ id: Math.floor(Math.random() * 2 ** 40), text, at: null, done: null })
    .execute()
const texts = () => other.prepare('select text from note order by text').pluck().all()

describe('values', () => {
  test('are written as ISO 8601 in UTC with milliseconds, and flags as 0 or 1', async () => {
    const at = new Date('2026-11-21T10:00:00.007+02:00')
    await db
      .insertInto('note')
      .values([
        { id: 1, text: 'a', at, done: true },
        { id: 2, text: null, at: null, done: false },
      ])
      .execute()
    expect(other.prepare('select * from note order by id').all()).toEqual([
      { id: 1, text: 'a', at: '2026-11-21T08:00:00.007Z', done: 1 },
      { id: 2, text: null, at: null, done: 0 },
    ])
  })

  test('are written the same way in conditions and streams', async () => {
    await db
      .insertInto('note')
      .values({ id: 1, text: 'a', at: new Date(0), done: true })
      .execute()
    const query = db.selectFrom('note').select('text').where('done', '=', true).where('at', '=', new Date(0))
    expect(await query.execute()).toEqual([{ text: 'a' }])
    const streamed: unknown[] = []
    for await (const row of query.stream()) streamed.push(row)
    expect(streamed).toEqual([{ text: 'a' }])
  })
})

describe('a transaction held across an await', () => {
  /** Starts a transaction that writes a note and then waits. */
  function openTransaction(text: string): { end: (how: 'commit' | 'fail') => void; ended: Promise<unknown> } {
    let end: (how: 'commit' | 'fail') => void = () => {}
    const waiting = new Promise<'commit' | 'fail'>((resolve) => {
      end = resolve
    })
    const ended = db.transaction().execute(async (trx) => {
      await insert(text, trx)
      if ((await waiting) === 'fail') throw new Error('changed my mind')
    })
    return { end, ended }
  }

  test("rolls back alone, without another caller's write", async () => {
    const { end, ended } = openTransaction('mine')
    const written = insert('theirs')
    end('fail')
    await expect(ended).rejects.toThrow('changed my mind')
    await written
    expect(texts()).toEqual(['theirs'])
  })

  test("blocks another caller's write, and then both are stored", async () => {
    const { end, ended } = openTransaction('mine')
    const order: string[] = []
    const both = [ended.then(() => order.push('mine')), insert('theirs').then(() => order.push('theirs'))]
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(order).toEqual([])
    expect(texts()).toEqual([])
    end('commit')
    await Promise.all(both)
    expect(order).toEqual(['mine', 'theirs'])
    expect(texts()).toEqual(['mine', 'theirs'])
  })

  test("takes the write lock at its start, so a write after a read can't fail", async () => {
    await db.transaction().execute(async (trx) => {
      await trx.selectFrom('note').select('id').execute()
      expect(() => other.exec("insert into note (id, text) values (1, 'theirs')")).toThrow(/locked/)
      await insert('mine', trx)
    })
    expect(texts()).toEqual(['mine'])
  })
})

test('runs each of many concurrent writes once', async () => {
  await Promise.all(Array.from({ length: 50 }, (_, i) => insert(`note ${i}`)))
  expect(new Set(texts()).size).toBe(50)
})

describe('an error', () => {
  test.each([
    ['a broken constraint', () => insert('twice').then(() => insert('twice')), 'SQLITE_CONSTRAINT_UNIQUE'],
    ['wrong SQL', () => db.schema.createTable('note').execute(), 'SQLITE_ERROR'],
  ])('in the statement is passed on unchanged: %s', async (_name, write, code) => {
    await expect(write()).rejects.toMatchObject({ code })
  })

  test("of a value that can't be bound is passed on unchanged", async () => {
    const write = sql`insert into note (text) values (${{ text: 'x' }})`
    await expect(write.execute(db)).rejects.toBeInstanceOf(TypeError)
    expect(texts()).toEqual([])
  })

  test('does not stop the queue', async () => {
    await insert('a')
    await Promise.allSettled([insert('a'), insert('a'), insert('b')])
    expect(texts()).toEqual(['a', 'b'])
  })
})

describe('while another connection holds the write lock', () => {
  // Time moves only when a test advances it. The pauses between two attempts are real.
  beforeAll(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterAll(() => void vi.useRealTimers())
  beforeEach(() => {
    vi.advanceTimersByTime(2 * BUSY_TIMEOUT_MS)
    other.exec('begin immediate')
  })
  afterEach(() => {
    if (other.inTransaction) other.exec('rollback')
  })

  /** Waits for several failed attempts, then advances the time. */
  async function pass(ms: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 20))
    vi.advanceTimersByTime(ms)
  }

  test('a write waits, and succeeds once the lock is released', async () => {
    const written = insert('patient')
    await pass(BUSY_TIMEOUT_MS - 1)
    await pass(0)
    other.exec('commit')
    await written
    expect(texts()).toEqual(['patient'])
  })

  test('a write fails with 503 after the timeout', async () => {
    const rejection = insert('late').catch((error: unknown) => error)
    await pass(BUSY_TIMEOUT_MS)
    expect(await rejection).toMatchObject({
      reason: 'SESSIONS_UNAVAILABLE',
      cause: { code: 'SQLITE_BUSY' },
    })
    other.exec('commit')
    expect(texts()).toEqual([])
  })

  test('a transaction fails with 503 after the timeout', async () => {
    const reason = reasonOf(db.transaction().execute((trx) => insert('late', trx)))
    await pass(BUSY_TIMEOUT_MS)
    expect(await reason).toBe('SESSIONS_UNAVAILABLE')
  })

  test("writes queued behind one that timed out don't wait as long again", async () => {
    const reasons = Promise.all(['a', 'b', 'c', 'd'].map((text) => reasonOf(insert(text))))
    await pass(BUSY_TIMEOUT_MS)
    expect(await reasons).toEqual(Array(4).fill('SESSIONS_UNAVAILABLE'))
  })

  test('neither do those behind a read, which succeeds', async () => {
    const late = reasonOf(insert('late'))
    const read = db.selectFrom('note').selectAll().execute()
    const next = reasonOf(insert('next'))
    await pass(BUSY_TIMEOUT_MS)
    expect([await late, await read, await next]).toEqual(['SESSIONS_UNAVAILABLE', [], 'SESSIONS_UNAVAILABLE'])
  })

  test.each([
    [
      'another succeeded',
      async () => {
        other.exec('commit')
        await insert('another')
        other.exec('begin immediate')
      },
    ],
    ['as much time has passed', () => pass(BUSY_TIMEOUT_MS)],
  ])('the full timeout applies again after a write timed out and %s', async (_name, given) => {
    const late = reasonOf(insert('late'))
    await pass(BUSY_TIMEOUT_MS)
    expect(await late).toBe('SESSIONS_UNAVAILABLE')
    await given()
    const written = reasonOf(insert('patient'))
    await pass(0)
    other.exec('commit')
    expect(await written).toBe('accepted')
  })
})

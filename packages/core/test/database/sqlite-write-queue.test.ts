import { join } from 'node:path'
import { openSqlite } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { isAuthError } from '@sallyport/core'
import { temporaryDirectory } from '../support/temporary-directory.ts'

interface Tables {
  note: { id: number; text: string | null; at: Date | string | null; done: boolean | number | null }
}

const path = join(temporaryDirectory(), 'app.db')
const { db, close } = await openSqlite<Tables>(path, { busyTimeoutMs: 100 })
await db.schema
  .createTable('note')
  .addColumn('id', 'integer', (column) => column.primaryKey())
  .addColumn('text', 'text', (column) => column.unique())
  .addColumn('at', 'text')
  .addColumn('done', 'integer')
  .execute()

/** Another connection to the same file, as another process would have. */
const other = new Database(path, { timeout: 0 })
afterAll(async () => {
  other.close()
  await close()
})
beforeEach(() => {
  other.exec('delete from note')
})

const insert = (text: string, trx: Pick<typeof db, 'insertInto'> = db) =>
  trx.insertInto('note').values({ id: Math.floor(Math.random() * 2 ** 40), text, at: null, done: null }).execute()
const texts = () => other.prepare('select text from note order by text').pluck().all()

describe('values', () => {
  test('a date is ISO 8601 in UTC with milliseconds, and a flag is 0 or 1', async () => {
    const at = new Date('2026-11-21T10:00:00.007+02:00')
    await db.insertInto('note').values([{ id: 1, text: 'a', at, done: true }, { id: 2, text: null, at: null, done: false }]).execute()
    expect(other.prepare('select * from note order by id').all()).toEqual([
      { id: 1, text: 'a', at: '2026-11-21T08:00:00.007Z', done: 1 },
      { id: 2, text: null, at: null, done: 0 },
    ])
  })

  test('they are so in conditions and in streams too', async () => {
    await db.insertInto('note').values({ id: 1, text: 'a', at: new Date(0), done: true }).execute()
    const query = db.selectFrom('note').select('text').where('done', '=', true).where('at', '=', new Date(0))
    expect(await query.execute()).toEqual([{ text: 'a' }])
    const streamed: unknown[] = []
    for await (const row of query.stream()) streamed.push(row)
    expect(streamed).toEqual([{ text: 'a' }])
  })
})

describe('a transaction held across an await', () => {
  /** A transaction that has written a note and then waits. */
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

  test("rolls back alone: another caller's write is not inside it", async () => {
    const { end, ended } = openTransaction('mine')
    const written = insert('theirs')
    end('fail')
    await expect(ended).rejects.toThrow('changed my mind')
    await written
    expect(texts()).toEqual(['theirs'])
  })

  test("keeps another caller's write waiting, and then both are there", async () => {
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

  test('has the write lock from its beginning, so that a write after a read cannot fail', async () => {
    await db.transaction().execute(async (trx) => {
      await trx.selectFrom('note').select('id').execute()
      expect(() => other.exec("insert into note (id, text) values (1, 'theirs')")).toThrow(/locked/)
      await insert('mine', trx)
    })
    expect(texts()).toEqual(['mine'])
  })
})

test('many writes at once are all done, each once', async () => {
  await Promise.all(Array.from({ length: 50 }, (_, i) => insert(`note ${i}`)))
  expect(new Set(texts()).size).toBe(50)
})

describe('an error', () => {
  test.each([
    ['a broken constraint', () => insert('twice').then(() => insert('twice')), 'SQLITE_CONSTRAINT_UNIQUE'],
    ['wrong SQL', () => db.schema.createTable('note').execute(), 'SQLITE_ERROR'],
  ])('of the statement is handed on as it is: %s', async (_name, write, code) => {
    await expect(write()).rejects.toMatchObject({ code })
  })

  test('does not stop the line', async () => {
    await insert('a')
    await Promise.allSettled([insert('a'), insert('a'), insert('b')])
    expect(texts()).toEqual(['a', 'b'])
  })
})

describe('while another connection holds the write lock', () => {
  test('a write waits, and is done once the lock is released', async () => {
    other.exec('begin immediate')
    const written = insert('patient')
    await new Promise((resolve) => setTimeout(resolve, 10))
    other.exec('commit')
    await written
    expect(texts()).toEqual(['patient'])
  })

  test('a write is given up with 503 in the end, and the next one is done when the lock is free', async () => {
    other.exec('begin immediate')
    const refusal = await insert('late').catch((error: unknown) => error)
    other.exec('commit')
    expect(refusal).toMatchObject({ reason: 'SESSIONS_UNAVAILABLE', cause: { code: 'SQLITE_BUSY' } })
    await insert('in time')
    expect(texts()).toEqual(['in time'])
  })

  test('a transaction is given up the same way', async () => {
    other.exec('begin immediate')
    const ended = db.transaction().execute((trx) => insert('late', trx))
    await expect(ended).rejects.toMatchObject({ reason: 'SESSIONS_UNAVAILABLE' })
    other.exec('commit')
    expect(texts()).toEqual([])
  })

  test('those in line behind a write that was given up are not made to wait as long again', async () => {
    other.exec('begin immediate')
    const first = insert('first').catch(() => {
      // Too late for those behind, which have waited as long by now.
      setTimeout(() => other.exec('commit'), 20)
    })
    const behind = await Promise.allSettled(Array.from({ length: 5 }, (_, i) => insert(`behind ${i}`)))
    await first
    expect(behind.map((result) => result.status === 'rejected' && isAuthError(result.reason))).toEqual(
      behind.map(() => true),
    )
    while (other.inTransaction) await new Promise((resolve) => setImmediate(resolve))
  })

  test('after a write has been given up and another done, patience is back', async () => {
    other.exec('begin immediate')
    await insert('late').catch(() => {})
    other.exec('commit')
    await insert('one')
    other.exec('begin immediate')
    const written = insert('two')
    await new Promise((resolve) => setTimeout(resolve, 10))
    other.exec('commit')
    await written
    expect(texts()).toEqual(['one', 'two'])
  })
})

test('a database that is gone is 503, not an error of the driver', async () => {
  const writer = join(temporaryDirectory(), 'gone.db')
  const gone = await openSqlite<Tables>(writer)
  await gone.close()
  await expect(gone.db.selectFrom('user').select('id').execute()).rejects.toMatchObject({
    reason: 'SESSIONS_UNAVAILABLE',
  })
})

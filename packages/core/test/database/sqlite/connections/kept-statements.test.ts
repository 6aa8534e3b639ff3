import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { toConnection } from '../../../../src/database/sqlite/connections/to-connection.ts'

function open() {
  const client = new Database(':memory:')
  onTestFinished(() => void client.close())
  client.exec(
    "create table note (id integer primary key, text text); insert into note (text) values ('a'), ('b')",
  )
  const prepare = vi.spyOn(client, 'prepare')
  return { client, prepared: prepare, ...toConnection(client) }
}

const READ = 'select * from note'

test('a statement is prepared once, and sees the changes of rows and of the schema', () => {
  const { client, prepared, ...connection } = open()
  const read = () => connection.prepare(READ).all([])
  const insert = (text: string) => connection.prepare('insert into note (text) values (?)').run([text])
  expect(read()).toHaveLength(2)
  insert('c')
  insert('d')
  client.exec('alter table note rename column text to body; alter table note add column other default 1')
  expect(read().at(-1)).toEqual({ id: 4, body: 'd', other: 1 })
  expect(prepared).toHaveBeenCalledTimes(2)
})

test('an iterated statement can run meanwhile', () => {
  const connection = open()
  const [outer, inner] = [connection.prepare(READ).iterate([]), connection.prepare(READ).iterate([])]
  outer.next()
  inner.next()
  expect(connection.prepare(READ).all([])).toHaveLength(2)
  expect([...outer]).toHaveLength(1)
  inner.return?.()
})

test('pragmas and long statements are prepared each time, and others until 200 newer ones', () => {
  const { prepared, ...connection } = open()
  const countOf = (sql: string) => {
    prepared.mockClear()
    connection.prepare(sql).all([])
    connection.prepare(sql).all([])
    return prepared.mock.calls.length
  }
  expect(countOf('pragma user_version')).toBe(2)
  expect(countOf(`select '${'x'.repeat(10_000)}'`)).toBe(2)
  expect(countOf(READ)).toBe(1)
  for (let i = 0; i < 199; i++) connection.prepare(`select ${i}`)
  expect(countOf(READ)).toBe(0)
  connection.prepare('select 200')
  expect(countOf(READ)).toBe(1)
})

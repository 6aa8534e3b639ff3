import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { rejectionFor } from '../support/outcome.ts'
import { soon } from '../support/soon.ts'
import type { NoteTransaction } from './note-router.ts'
import { call, contextOf, openForTests, postgresUrl } from './stores.ts'

const app = await openForTests(await postgresUrl())

test("a hanging statement times out after the transaction's 2 s, long before other statements would", async () => {
  const ada = await app.signIn()
  const inside = async (trx: NoteTransaction) => {
    await sql`select pg_sleep(30)`.execute(trx)
  }
  const order: string[] = []
  const later = sql`select pg_sleep(4)`.execute(app.db).then(() => order.push('later'))
  const { rejection } = await call('write', contextOf(app, ada, { inside }))
  expect(rejection).toEqual(rejectionFor('SESSIONS_UNAVAILABLE', { replay: false }))
  await app.revoke(ada)
  order.push('revoked')
  await later
  expect(order).toEqual(['revoked', 'later'])
  expect(await app.notes()).toEqual([])
}, 10_000)

test('a user with more concurrent writes than connections leaves connections for other users', async () => {
  const [ada, bob] = [await app.signIn(), await app.signIn()]
  const release = Promise.withResolvers<void>()
  let entered = 0
  const inside = () => {
    entered++
    return release.promise
  }
  const writes = Array.from({ length: 30 }, () => call('write', contextOf(app, ada, { inside })))
  await soon(() => expect(entered).toBe(1))
  // Fails if it has to wait for a connection for longer than the first write may take.
  const other = await call('write', contextOf(app, bob))
  expect(other.rejection).toBeNull()
  expect(entered).toBe(1)
  release.resolve()
  const rejections = (await Promise.all(writes)).map(({ rejection }) => rejection)
  expect(rejections).toEqual(Array(30).fill(null))
})

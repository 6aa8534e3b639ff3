import { sql } from 'kysely'
import { afterAll, expect, test, vi } from 'vitest'
import { testPostgres } from '../../../core/test/support/postgres.ts'
import { rejectionFor } from '../support/outcome.ts'
import { soon } from '../support/soon.ts'
import type { NoteTransaction } from './note-router.ts'
import { call, contextOf, openForTests } from './stores.ts'

const server = await testPostgres({ deadlock_timeout: '100ms' })
// Stops the clock, so no transaction reaches its time limit on a busy machine.
vi.spyOn(performance, 'now').mockReturnValue(performance.now())
afterAll(() => void vi.restoreAllMocks())

test('a deadlock is 503, and the function is not run again', async () => {
  const app = await openForTests(await server.createDatabase('crossing'))
  const [ada, bob] = [await app.signIn(), await app.signIn()]
  const rows = ['a', 'b'].map((id) => ({ id, text: id }))
  await app.db.insertInto('note').values(rows).execute()
  let [runs, arrived] = [0, 0]
  const crossing = (first: string, second: string) => async (trx: NoteTransaction) => {
    runs++
    await trx.updateTable('note').set({ text: 'x' }).where('id', '=', first).execute()
    arrived++
    await soon(() => expect(arrived).toBe(2))
    await trx.updateTable('note').set({ text: 'x' }).where('id', '=', second).execute()
  }
  const outcomes = await Promise.all([
    call('write', contextOf(app, ada, { inside: crossing('a', 'b') })),
    call('write', contextOf(app, bob, { inside: crossing('b', 'a') })),
  ])
  expect(runs).toBe(2)
  const rejections = outcomes.flatMap(({ rejection }) => (rejection === null ? [] : [rejection]))
  expect(rejections).toEqual([rejectionFor('SESSIONS_UNAVAILABLE', { replay: false })])
})

test('a concurrently changed row (40001) is 503, and the function is not run again', async () => {
  const app = await openForTests(await server.createDatabase('changed'))
  const ada = await app.signIn()
  let runs = 0
  const inside = async (trx: NoteTransaction) => {
    runs++
    await sql`do $$ begin raise exception 'changed' using errcode = '40001'; end $$`.execute(trx)
  }
  const { rejection } = await call('write', contextOf(app, ada, { inside }))
  expect(rejection).toEqual(rejectionFor('SESSIONS_UNAVAILABLE', { replay: false }))
  expect(runs).toBe(1)
  expect(await app.notes()).toEqual([])
})

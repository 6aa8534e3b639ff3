import { type OnceCall, runOnce } from '@sallyport/core/internal/server'
import { describe, expect, test, vi } from 'vitest'
import { databaseKinds } from '../support/database-kinds.ts'
import { reasonOf } from '../support/reason-of.ts'

const now = new Date('2026-11-21T10:00:00.000Z')
const newCall = (changes: Partial<OnceCall> = {}): OnceCall => ({
  idempotencyKey: crypto.randomUUID(),
  path: 'report.save',
  bodyDigest: 'digest',
  service: 'edge',
  userId: 'ada',
  now,
  ...changes,
})

describe.each(await databaseKinds())('in $name', async ({ create }) => {
  // Each call has its own key.
  const database = await create()
  const [here, there] = [await database.open(), await database.open()]
  const rowsOf = (fn: string) =>
    here.db.selectFrom('sallyport.service_call').selectAll().where('fn', '=', fn).execute()

  test('a repetition gets the stored outcome, on any node and after any restart', async () => {
    const call = newCall()
    const work = vi.fn(async () => 'saved')
    expect(await runOnce(here.db, call, work)).toEqual({ state: 'done', result: 'saved' })
    for (const { db } of [here, there, await database.open()])
      expect(await runOnce(db, call, work)).toEqual({ state: 'done', result: 'saved' })
    expect(work).toHaveBeenCalledTimes(1)
  })

  test('the key of another service is a different key, also with the same user, path, and input', async () => {
    const call = newCall()
    for (const service of ['edge', 'reports', null])
      expect(await runOnce(here.db, { ...call, service }, async () => `of ${service}`)).toEqual({
        state: 'done',
        result: `of ${service}`,
      })
    expect(await runOnce(here.db, call, async () => 'again')).toEqual({ state: 'done', result: 'of edge' })
  })

  test('while it runs, a repetition waits on this node, and the outcome is unknown on others', async () => {
    const call = newCall()
    const { promise: finished, resolve: finish } = Promise.withResolvers<string>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const work = vi.fn(() => {
      begin()
      return finished
    })
    const first = runOnce(here.db, call, work)
    await begun
    const second = runOnce(here.db, call, work)
    expect(await runOnce(there.db, call, work)).toEqual({ state: 'unknown' })
    finish('saved')
    expect(await Promise.all([first, second])).toEqual([
      { state: 'done', result: 'saved' },
      { state: 'done', result: 'saved' },
    ])
    expect(await runOnce(there.db, call, work)).toEqual({ state: 'done', result: 'saved' })
    expect(work).toHaveBeenCalledTimes(1)
  })

  test('runs one of many concurrent calls on two nodes', async () => {
    for (let round = 0; round < 5; round++) {
      const call = newCall()
      const work = vi.fn(async () => 'saved')
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, (_, i) => runOnce((i % 2 === 0 ? here : there).db, call, work)),
      )
      expect(work).toHaveBeenCalledTimes(1)
      const others = outcomes.filter(({ state }) => state !== 'done')
      expect(others.map(({ state }) => state)).toEqual(others.map(() => 'unknown'))
    }
  })

  test("after a crash during the call the outcome is unknown, and it doesn't run again", async () => {
    const call = newCall()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    // The process crashes here: the call never finishes.
    void runOnce(here.db, call, () => {
      begin()
      return new Promise(() => {})
    })
    await begun
    const work = vi.fn(async () => 'saved')
    for (const { db } of [there, await database.open()])
      expect(await runOnce(db, call, work)).toEqual({ state: 'unknown' })
    expect(work).not.toHaveBeenCalled()
  })

  test("if the outcome can't be stored, waiting callers receive it, and for later callers it is unknown", async () => {
    const onError = vi.fn()
    const call = { ...newCall(), onError }
    const table = database.internal('service_call')
    const outcome = runOnce(here.db, call, async () => {
      await database.run(`alter table ${table} rename column result to elsewhere`)
      return 'saved'
    })
    expect(await outcome).toEqual({ state: 'done', result: 'saved' })
    expect(onError).toHaveBeenCalledOnce()
    await database.run(`alter table ${table} rename column elsewhere to result`)
    const work = vi.fn(async () => 'saved')
    for (const { db } of [here, there]) expect(await runOnce(db, call, work)).toEqual({ state: 'unknown' })
    expect(work).not.toHaveBeenCalled()
  })

  test.each<[string, Partial<OnceCall>]>([
    ['another function', { path: 'report.delete' }],
    ['another body', { bodyDigest: 'other' }],
  ])('rejects a key that was used for %s, during the call and after it', async (_what, changes) => {
    const call = newCall()
    const work = vi.fn(async () => 'other')
    const first = runOnce(here.db, call, async () => {
      for (const { db } of [here, there])
        expect(await runOnce(db, { ...call, ...changes }, work)).toEqual({ state: 'conflict' })
      return 'saved'
    })
    await first
    for (const { db } of [here, there])
      expect(await runOnce(db, { ...call, ...changes }, work)).toEqual({ state: 'conflict' })
    expect(work).not.toHaveBeenCalled()
  })

  test('the key of another user, or of no user, is a different key', async () => {
    const call = newCall({ path: 'report.share' })
    const results: unknown[] = []
    for (const userId of ['ada', 'eve', null, 'null'])
      results.push(await runOnce(here.db, { ...call, userId }, async () => `of ${userId}`))
    const repeated = await runOnce(here.db, call, async () => 'again')
    expect([...results, repeated]).toEqual(
      ['of ada', 'of eve', 'of null', 'of null', 'of ada'].map((result) => ({ state: 'done', result })),
    )
    expect(await rowsOf('report.share')).toHaveLength(4)
  })

  test('stores only a hash of the key, and deletes the row after a day', async () => {
    const call = newCall({ path: 'report.store' })
    await runOnce(here.db, call, async () => 'saved')
    const [row] = await rowsOf('report.store')
    expect({ ...row, expiresAt: new Date(row?.expiresAt ?? 0) }).toEqual({
      id: expect.stringMatching(/^[\w-]{43}$/),
      fn: 'report.store',
      body: 'digest',
      userId: 'ada',
      result: 'saved',
      expiresAt: new Date('2026-11-22T10:00:00.000Z'),
    })
    expect(JSON.stringify(row)).not.toContain(call.idempotencyKey)
  })

  test('runs nothing without a database', async () => {
    const closed = await database.open()
    await closed.close()
    const work = vi.fn(async () => 'saved')
    const call = newCall()
    for (let i = 0; i < 2; i++)
      expect(await reasonOf(runOnce(closed.db, call, work))).toBe('SESSIONS_UNAVAILABLE')
    expect(work).not.toHaveBeenCalled()
  })
})

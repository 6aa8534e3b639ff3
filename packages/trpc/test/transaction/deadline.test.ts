import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { eventually } from '../../../core/test/support/eventually.ts'
import { type Outcome, rejectionFor } from '../support/outcome.ts'
import { soon } from '../support/soon.ts'
import type { NoteTransaction, Script } from './note-router.ts'
import { call, contextOf, openForTests, postgresUrl, STORES } from './stores.ts'

let now = performance.now()
// Only fakes the clock, since the PostgreSQL driver needs its timers.
vi.spyOn(performance, 'now').mockImplementation(() => now)
afterAll(() => void vi.restoreAllMocks())
const advance = (ms: number) => {
  now += ms
}

const TOO_LATE = rejectionFor('SESSIONS_UNAVAILABLE', { replay: false })

/** Waits for the next check for overdue work, which runs ten times a second. */
const overdueWorkIsLookedFor = () => sleep(150)

describe.each(STORES)('the 2 s limit of ctx.transaction in $engine', async ({ createDatabase }) => {
  const app = await openForTests(await createDatabase())
  const ada = await app.signIn()
  // Opens the connections now, so none is being opened when the clock jumps.
  await Promise.all(Array.from({ length: 8 }, app.notes))
  afterEach(() => app.db.deleteFrom('note').execute())

  /** Starts a write, and resolves once its function is running. */
  async function begin(inside: NonNullable<Script['inside']>): Promise<Promise<Outcome>[]> {
    const entered = Promise.withResolvers<void>()
    const outcome = call(
      'write',
      contextOf(app, ada, {
        inside(trx, ctx) {
          entered.resolve()
          return inside(trx, ctx)
        },
      }),
    )
    await entered.promise
    // In an array, so awaiting this function doesn't await the write.
    return [outcome]
  }

  test('accepts work that finishes just before the end', async () => {
    const done = Promise.withResolvers<void>()
    const [outcome] = await begin(() => done.promise)
    advance(1_800)
    await overdueWorkIsLookedFor()
    done.resolve()
    expect((await outcome)?.rejection).toBeNull()
    expect(await app.notes()).toEqual([ada.sessionId])
  })

  test('ends a function that waits forever: its work is rolled back, and other calls continue', async () => {
    let kept: NoteTransaction | undefined
    const [outcome] = await begin((trx) => {
      kept = trx
      return new Promise(() => {})
    })
    const revoked = app.db.updateTable('user').set({ name: 'Ada' }).where('id', '=', ada.userId).execute()
    advance(2_100)
    expect((await outcome)?.rejection).toEqual(TOO_LATE)
    await revoked
    await expect(kept?.insertInto('note').values({ id: '1', text: 'late' }).execute()).rejects.toThrow()
    expect(await app.notes()).toEqual([])
  })

  test('ends a function that keeps writing: each further call is rejected', async () => {
    let last: unknown
    let calls = 0
    const [outcome] = await begin(async (trx) => {
      for (;;) {
        try {
          await trx
            .insertInto('note')
            .values({ id: String(calls++), text: 'more' })
            .execute()
        } catch (error) {
          last = error
          return
        }
        await new Promise(setImmediate)
      }
    })
    advance(2_100)
    expect((await outcome)?.rejection).toEqual(TOO_LATE)
    await eventually(() => expect(last).toBeInstanceOf(Error))
    expect(await app.notes()).toEqual([])
  })

  test('starts when the locks are held, not earlier', async () => {
    const release = Promise.withResolvers<void>()
    const [first] = await begin(() => release.promise)
    const second = call('write', contextOf(app, ada))
    advance(1_500)
    await overdueWorkIsLookedFor()
    release.resolve()
    await first
    expect((await second).rejection).toBeNull()
  })

  test('ends a ctx.db write that waits for the transaction', async () => {
    let stray: Promise<unknown> = Promise.resolve()
    const [outcome] = await begin((_trx, { db }) => {
      stray = db.updateTable('user').set({ name: 'Stray' }).where('id', '=', ada.userId).execute()
      return stray
    })
    advance(2_100)
    expect((await outcome)?.rejection).toEqual(TOO_LATE)
    // It was outside the transaction, so it isn't rolled back with it.
    await stray
    const { rows } = await sql`select name from "user" where id = ${ada.userId}`.execute(app.db)
    expect(rows).toEqual([{ name: 'Stray' }])
    expect(await app.notes()).toEqual([])
  })
})

describe('in PostgreSQL alone', async () => {
  const app = await openForTests(await postgresUrl(), { statementTimeoutMs: 600_000 })

  test('a hanging statement has the time limit of its transaction, which is shorter than that of others', async () => {
    const ada = await app.signIn()
    const inside = async (trx: NoteTransaction) => {
      await sql`select pg_sleep(300)`.execute(trx)
    }
    const { rejection } = await call('write', contextOf(app, ada, { inside }))
    expect(rejection).toEqual(TOO_LATE)
    await app.revoke(ada)
    expect(await app.notes()).toEqual([])
  })

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
    // Fails if it has to wait for a connection.
    const other = await call('write', contextOf(app, bob))
    expect(other.rejection).toBeNull()
    expect(entered).toBe(1)
    release.resolve()
    const rejections = (await Promise.all(writes)).map(({ rejection }) => rejection)
    expect(rejections).toEqual(Array(30).fill(null))
  })
})

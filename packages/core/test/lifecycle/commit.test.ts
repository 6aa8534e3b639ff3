import { join } from 'node:path'
import { AuthError, type AuthEvent, ConfigurationError } from '@sallyport/core'
import { type ChangeEvent, type ChangeHook, commit, type SessionDatabase } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { dumpTables } from '../support/dump-tables.ts'
import { eventually } from '../support/eventually.ts'
import { readAudit } from '../support/read-audit.ts'
import { reasonOf } from '../support/reason-of.ts'
import { collectRevocations } from '../support/revocations.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

// For a hook that never ends. Set before any code can start a timer.
vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
afterAll(() => void vi.useRealTimers())

// A file, so other connections don't see uncommitted changes.
const path = join(temporaryDirectory(), 'app.db')
const auth = await createTestAuth({ databaseUrl: path })
const other = await openSqlite(path)
afterAll(async () => {
  await other.close()
  await auth.close()
})
const published = collectRevocations(auth.database.revocations)

let userId: string
beforeEach(async () => {
  userId = (await auth.createUser()).userId
  published.length = 0
})

const nameSeenByOthers = async () =>
  (await other.db.selectFrom('user').select('name').where('id', '=', userId).executeTakeFirstOrThrow()).name
const ofUser = () => ({ at: auth.clock.now(), userId, actorId: null })
const unbanned = (): ChangeEvent => ({ type: 'user.unbanned', ...ofUser(), from: null })
/** Renames the user and records an event. */
const rename = (database: Partial<SessionDatabase> = {}, event: ChangeEvent = unbanned()) =>
  commit({ ...auth.database, ...database }, async (trx, record) => {
    await trx.updateTable('user').set({ name: 'Eve' }).where('id', '=', userId).execute()
    record(event)
    return 'renamed'
  })
const recordsOf = async () => (await readAudit(auth, userId)).filter(({ type }) => type !== 'user.created')

describe('the order', () => {
  test('the change, the hooks, and the record in one transaction; then streams and listeners; then the caller', async () => {
    const order: string[] = []
    const at = (what: string) => order.push(what)
    const event: ChangeEvent = { type: 'user.role-changed', ...ofUser(), from: 'admin', to: 'user' }
    const hook =
      (name: string): ChangeHook =>
      async (_event, trx) => {
        const seen = await trx.selectFrom('user').select('name').where('id', '=', userId).executeTakeFirst()
        at(`${name} sees ${seen?.name}, others see ${await nameSeenByOthers()}`)
      }
    const unsubscribe = auth.database.revocations.subscribe({ userId, sessionId: 'x' }, () =>
      at('the stream ends'),
    )
    const listener = () => void at('the listener is called')
    await rename({ hooks: [hook('one hook'), hook('another')], onEvent: listener }, event).then(at)
    unsubscribe()
    expect(order).toEqual([
      'one hook sees Eve, others see Test User',
      'another sees Eve, others see Test User',
      'the stream ends',
      'the listener is called',
      'renamed',
    ])
  })

  test('a listener sees the committed change and its record', async () => {
    const announced = Promise.withResolvers<unknown>()
    const look = async () => [await nameSeenByOthers(), (await recordsOf()).length]
    await rename({ onEvent: () => void announced.resolve(look()) })
    expect(await announced.promise).toEqual(['Eve', 1])
  })

  test('a slow listener delays nothing', async () => {
    expect(await rename({ onEvent: () => new Promise(() => {}) })).toBe('renamed')
  })

  test('every hook and listener gets every event, in order', async () => {
    const [hook, onEvent] = [vi.fn<ChangeHook>(async () => {}), vi.fn<(event: AuthEvent) => void>()]
    const events: ChangeEvent[] = [unbanned(), { type: 'user.password-changed', ...ofUser() }]
    await commit({ ...auth.database, hooks: [hook], onEvent }, async (_trx, record) => events.forEach(record))
    expect(hook.mock.calls.map(([event]) => event)).toEqual(events)
    expect(onEvent.mock.calls.map(([event]) => event)).toEqual(events)
    expect((await recordsOf()).map(({ type }) => type)).toEqual(['user.unbanned', 'user.password-changed'])
  })

  test('a hook gets the events that hooks record', async () => {
    const hook: ChangeHook = async ({ type }, _trx, record) => {
      const next = { 'user.unbanned': 'copies:first', 'copies:first': 'copies:second' } as const
      if (type === 'user.unbanned' || type === 'copies:first')
        record({ type: next[type], ...ofUser(), detail: {} })
    }
    await rename({ hooks: [hook] })
    expect((await recordsOf()).map(({ type }) => type)).toEqual([
      'user.unbanned',
      'copies:first',
      'copies:second',
    ])
  })
})

describe('everything is rolled back, no stream ends, and nothing is reported', () => {
  const failure = new Error('no')
  const role = (): ChangeEvent => ({ type: 'user.role-changed', ...ofUser(), from: 'user', to: 'admin' })

  async function isUndone(attempt: (database: Partial<SessionDatabase>) => Promise<unknown>) {
    const onEvent = vi.fn<(event: AuthEvent) => void>()
    const before = await dumpTables(auth)
    await expect(attempt({ onEvent })).rejects.toThrow()
    expect(await dumpTables(auth)).toEqual(before)
    expect(published).toEqual([])
    expect(onEvent).not.toHaveBeenCalled()
  }

  test('if the work throws after it recorded an event', () =>
    isUndone((database) =>
      commit({ ...auth.database, ...database }, async (trx, record) => {
        await trx.deleteFrom('user').execute()
        record(role())
        throw failure
      }),
    ))

  test.each<[string, ChangeHook]>([
    ['rejects', () => Promise.reject(failure)],
    [
      'throws',
      () => {
        throw failure
      },
    ],
    [
      'violates a database constraint',
      async (_event, trx) => {
        const {
          token,
          userId: owner,
          ...times
        } = {
          token: 'x',
          userId: 'missing',
          expiresAt: new Date(),
          lastAuthenticatedAt: new Date(),
          lastSeenAt: new Date(),
          createdAt: new Date(),
          updatedAt: new Date(),
        }
        await trx
          .insertInto('session')
          .values({ id: 'x', token, userId: owner, remembered: true, ...times })
          .execute()
      },
    ],
  ])('if a hook %s after another has written', (_name, fails) =>
    isUndone((database) => {
      const writes: ChangeHook = async (_event, trx) => {
        await trx.updateTable('user').set({ image: 'x' }).execute()
      }
      return rename({ ...database, hooks: [writes, fails] }, role())
    }),
  )

  test("if the record can't be written", () =>
    isUndone((database) =>
      commit({ ...auth.database, ...database }, async (trx, record) => {
        await trx.updateTable('user').set({ name: 'Eve' }).execute()
        await trx.schema.alterTable('sallyport.audit').renameColumn('type', 'kind').execute()
        record(role())
      }),
    ))
})

describe('a hook that never ends', () => {
  test('because it records an event for each event is a mistake, and is rolled back', async () => {
    const before = await dumpTables(auth)
    let calls = 0
    const copy: ChangeHook = async (_event, _trx, record) => {
      if (++calls === 1_000) throw new Error('The process would run out of memory')
      record({ type: 'copies:copied', ...ofUser(), detail: {} })
    }
    await expect(rename({ hooks: [copy] })).rejects.toThrow(ConfigurationError)
    expect(await dumpTables(auth)).toEqual(before)
  })

  test('ends with 503 and is rolled back, and others can write again', async () => {
    const onEvent = vi.fn<(event: AuthEvent) => void>()
    const before = await dumpTables(auth)
    const setImage = (image: string | null) =>
      auth.db.updateTable('user').set({ image }).where('id', '=', userId).execute()
    const waits: ChangeHook = async () => void (await setImage('x'))
    const change = reasonOf(rename({ hooks: [waits], onEvent }))
    await vi.advanceTimersByTimeAsync(11_000)
    expect(await change).toBe('SESSIONS_UNAVAILABLE')
    expect(published).toEqual([])
    expect(onEvent).not.toHaveBeenCalled()
    // Work on its own connection that waited for the transaction has now finished.
    await setImage(null)
    expect(await dumpTables(auth)).toEqual(before)
    expect(await rename()).toBe('renamed')
  })

  test('writes nothing if it continues too late', async () => {
    const before = await dumpTables(auth)
    const { promise: late, resolve: goOn } = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<unknown>()
    const waits: ChangeHook = async (_event, trx) => {
      await late
      await trx.updateTable('user').set({ name: 'x' }).execute().catch(ended.resolve)
    }
    const change = reasonOf(rename({ hooks: [waits] }))
    await vi.advanceTimersByTimeAsync(11_000)
    expect(await change).toBe('SESSIONS_UNAVAILABLE')
    goOn()
    expect(await ended.promise).toBeInstanceOf(Error)
    expect(await dumpTables(auth)).toEqual(before)
  })
})

describe('a failing listener changes nothing', () => {
  test.each<[string, () => Promise<void>]>([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
  ])('a listener that %s', async (_name, onEvent) => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {})
    expect(await rename({ onEvent })).toBe('renamed')
    expect(await nameSeenByOthers()).toBe('Eve')
    expect(await recordsOf()).toHaveLength(1)
    await eventually(() => expect(print).toHaveBeenCalledOnce())
    print.mockRestore()
  })
})

describe('the recorded events, and the streams that end', () => {
  const at = new Date('2026-11-21T10:00:00.000Z')
  const base = { at, userId: 'ada' }

  test('every event of a change is recorded', async () => {
    const sessionIds = Array.from({ length: 5_000 }, (_, i) => `s${i}`)
    await commit(auth.database, async (_trx, record) => {
      for (const sessionId of sessionIds) record({ ...base, sessionId, type: 'session.expired' })
    })
    const records = await readAudit(auth, 'ada')
    expect(records.map(({ sessionId }) => sessionId)).toEqual(sessionIds)
    await auth.db.deleteFrom('sallyport.audit').where('userId', '=', 'ada').execute()
  })

  test('a change without effect has no record', async () => {
    const before = await dumpTables(auth)
    expect(await commit(auth.database, async () => 7)).toBe(7)
    expect(await dumpTables(auth)).toEqual(before)
  })
})

describe('a transaction that the database aborts because of a conflict', () => {
  const conflict = (code: string) => Object.assign(new Error('deadlock detected'), { code })
  const wrapped = new AuthError('SESSIONS_UNAVAILABLE', { cause: conflict('40P01') })

  /** Runs a change that fails this many times, and skips the pauses between attempts. */
  async function failing(times: number, error: Error) {
    let attempts = 0
    const outcome = reasonOf(
      commit(auth.database, async (_trx, record) => {
        attempts++
        record(unbanned())
        if (attempts <= times) throw error
      }),
    ).catch((cause: unknown) => cause)
    const settled = outcome.then(() => true)
    while (!(await Promise.race([settled, new Promise((resolve) => setImmediate(resolve, false))])))
      vi.advanceTimersByTime(20)
    return { reason: await outcome, attempts }
  }

  test.each([
    ['40P01', conflict('40P01')],
    ['40001', conflict('40001')],
    ['40P01 as the cause of a rejection', wrapped],
  ])('is retried after %s, and its events are reported once', async (_name, error) => {
    expect(await failing(5, error)).toEqual({ reason: 'accepted', attempts: 6 })
    expect(await recordsOf()).toHaveLength(1)
  })

  test('fails after five retries', async () => {
    expect(await failing(6, conflict('40P01'))).toEqual({ reason: 'SESSIONS_UNAVAILABLE', attempts: 6 })
    expect(await recordsOf()).toEqual([])
  })

  test.each([
    { what: 'a duplicate is retried once', code: '23505', expected: 2 },
    { what: 'any other error is not retried', code: '23503', expected: 1 },
  ])('$what', async ({ code, expected }) => {
    const error = conflict(code)
    expect(await failing(Number.POSITIVE_INFINITY, error)).toEqual({ reason: error, attempts: expected })
    expect(await recordsOf()).toEqual([])
  })
})

import { join } from 'node:path'
import { openSqlite } from '@sallyport/core/sqlite'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startFixture } from '../../support/child-process.ts'
import { testRateLimitStore } from '../../support/rate-limit-contract.ts'
import { reasonOf } from '../../support/reason-of.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const path = join(temporaryDirectory(), 'app.db')
const database = await openSqlite(path)
const { db, limits } = database
afterAll(() => database.close())

const LIMIT = { points: 3, duration: 60 }
const newKey = () => crypto.randomUUID()
const rows = () => db.selectFrom('rateLimit').selectAll().execute()
async function openAgain(options?: { busyTimeoutMs: number }) {
  const again = await openSqlite(path, options)
  onTestFinished(() => again.close())
  return again
}

describe('a store on a file', () => {
  testRateLimitStore(limits)

  test('shares its counts with every other', async () => {
    const [key, other] = [newKey(), await openAgain()]
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? limits : other.limits).consume(key, LIMIT)),
    )
    expect(results.filter((result) => result === null)).toHaveLength(3)
  })

  test('allows what another process gave back, though it rejected the key before', async () => {
    const [key, other] = [newKey(), await openAgain()]
    for (let i = 0; i < 4; i++) await limits.consume(key, LIMIT)
    expect(await other.limits.consume(key, LIMIT)).toBe(60)
    await limits.giveBack?.(key, LIMIT)
    expect(await other.limits.consume(key, LIMIT)).toBeNull()
    expect(await limits.consume(key, LIMIT)).toBe(60)
  })

  test('keeps them while the program is not running', async () => {
    const key = newKey()
    const before = await openSqlite(path)
    for (let i = 0; i < 3; i++) await before.limits.consume(key, LIMIT)
    await before.close()
    expect(await (await openAgain()).limits.consume(key, LIMIT)).toBe(60)
  })

  test('writes nothing once the limit is reached', async () => {
    const key = newKey()
    for (let i = 0; i < 3; i++) await limits.consume(key, LIMIT)
    const before = await rows()
    for (let i = 0; i < 10; i++) expect(await limits.consume(key, LIMIT)).toBe(60)
    expect(await rows()).toEqual(before)
  })

  test('counts what is tried while a transaction is open, even if it is rolled back', async () => {
    const key = newKey()
    const { promise: undone, resolve: undo } = Promise.withResolvers<void>()
    const transaction = db.transaction().execute(async (trx) => {
      await trx.deleteFrom('user').execute()
      await undone
      throw new Error('undone')
    })
    const counted = limits.consume(key, { points: 1, duration: 60 })
    undo()
    await expect(transaction).rejects.toThrow('undone')
    expect(await counted).toBeNull()
    expect(await limits.consume(key, { points: 1, duration: 60 })).toBe(60)
  })
})

describe('an attempt that cannot be counted is not allowed', () => {
  test('while another process holds the file for too long', async () => {
    const impatient = await openAgain({ busyTimeoutMs: 50 })
    const writer = startFixture('holdWriteLock', path)
    onTestFinished(() => writer.kill())
    expect(await writer.heard()).toBe('held')
    expect(await reasonOf(impatient.limits.consume(newKey(), LIMIT))).toBe('SESSIONS_UNAVAILABLE')
    const patient = limits.consume(newKey(), LIMIT)
    writer.tell('release')
    expect(await patient).toBeNull()
  })

  test('when the database is gone', async () => {
    const gone = await openSqlite(path)
    await gone.limits.consume('before', LIMIT)
    await gone.close()
    expect(await reasonOf(gone.limits.consume(newKey(), LIMIT))).toBe('SESSIONS_UNAVAILABLE')
    expect(await reasonOf(gone.limits.consume(newKey(), { points: 7, duration: 7 }))).toBe(
      'SESSIONS_UNAVAILABLE',
    )
  })
})

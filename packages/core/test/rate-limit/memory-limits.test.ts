import { memoryLimits } from '@sallyport/core/auth'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { testRateLimitStore } from '../support/rate-limit-contract.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a store in memory', () => {
  testRateLimitStore(memoryLimits())

  test("doesn't share its counts with another store", async () => {
    const limit = { points: 1, duration: 60 }
    const [one, other] = [memoryLimits(), memoryLimits()]
    expect([await one.consume('a', limit), await one.consume('a', limit)]).toEqual([null, 60])
    expect(await other.consume('a', limit)).toBeNull()
  })

  test('has a limited number of counters: beyond it, new keys share them until others have ended', async () => {
    const limit = { points: 2, duration: 60 }
    const { consume, giveBack } = memoryLimits()
    for (let count = 0; count < 100_000; count++) await consume(`flood ${count}`, limit)
    const waits: (number | null)[] = []
    for (let count = 0; count < 20_000; count++) waits.push(await consume(`more ${count}`, limit))
    expect(waits.filter((seconds) => seconds === null)).toHaveLength(2_000)
    // A known key keeps its own counter.
    expect([await consume('flood 1', limit), await consume('flood 1', limit)]).toEqual([null, 60])
    // A user whose key is shared gets their attempt back.
    expect(await consume('more 1', limit)).toBe(60)
    await giveBack('more 1', limit)
    expect(await consume('more 1', limit)).toBeNull()
    vi.setSystemTime(Date.now() + 60_001)
    for (let count = 0; count < 20_000; count++) expect(await consume(`later ${count}`, limit)).toBeNull()
  })
})

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
})

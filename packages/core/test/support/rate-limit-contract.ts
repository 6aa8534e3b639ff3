import { expect, test, vi } from 'vitest'
import type { RateLimit, RateLimitStore } from '../../src/rate-limit/rate-limit.ts'

const LIMIT = { points: 3, duration: 60 }

/** Tests what every store does. The tests fake the clock that it reads. */
export function testRateLimitStore(store: RateLimitStore): void {
  const { consume } = store
  async function giveBack(key: string, limit: RateLimit): Promise<void> {
    if (store.giveBack === undefined) throw new TypeError('The store gives nothing back')
    await store.giveBack(key, limit)
  }
  const newKey = () => crypto.randomUUID()
  const times = async (count: number, key: string, limit = LIMIT) => {
    const answers: (number | null)[] = []
    for (let i = 0; i < count; i++) answers.push(await consume(key, limit))
    return answers
  }
  const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds)

  test('allows the configured number, and then returns the seconds to wait', async () => {
    expect(await times(5, newKey())).toEqual([null, null, null, 60, 60])
  })

  test('allows exactly the configured number of concurrent attempts', async () => {
    const key = newKey()
    const answers = await Promise.all(Array.from({ length: 200 }, () => consume(key, LIMIT)))
    expect(answers.filter((answer) => answer === null)).toHaveLength(3)
  })

  test.each([2 ** 31, Number.MAX_SAFE_INTEGER])(
    'accepts a limit of %s that is never reached',
    async (points) => {
      const limit = { points, duration: 60 }
      expect(await times(3, newKey(), limit)).toEqual([null, null, null])
    },
  )

  test.each([
    { points: 2.5, duration: 60 },
    { points: 3, duration: 100 / 7 },
    { points: 3, duration: Number.POSITIVE_INFINITY },
  ])('accepts %j, which an integer column cannot store', async (limit) => {
    const answers = await times(4, newKey(), limit)
    expect(answers).toEqual([null, null, null, expect.any(Number)])
  })

  test('counts each key separately, whatever it contains', async () => {
    const prefix = newKey()
    const keys = ['', ' ', 'A', 'a', 'a:b', "'; drop table rateLimit --", '%', '☃', 'x'.repeat(1_000)]
    for (const key of keys) expect(await times(4, `${prefix}${key}`)).toEqual([null, null, null, 60])
    expect(await consume(`${prefix}a`, LIMIT)).toBe(60)
  })

  test('counts each limit of one key separately', async () => {
    const key = newKey()
    const longer = { points: 5, duration: 3_600 }
    expect(await times(4, key)).toEqual([null, null, null, 60])
    expect(await times(4, key, longer)).toEqual([null, null, null, null])
    pass(60_001)
    expect(await times(2, key, longer)).toEqual([null, 3_540])
    expect(await times(4, key)).toEqual([null, null, null, 60])
  })

  test("starts again when the window of the first attempt has ended, and rejections don't extend it", async () => {
    const key = newKey()
    await times(2, key)
    pass(30_000)
    expect(await times(3, key)).toEqual([null, 30, 30])
    pass(29_500)
    expect(await consume(key, LIMIT)).toBe(1)
    pass(501)
    expect(await times(4, key)).toEqual([null, null, null, 60])
  })

  test('starts again if the clock was set back', async () => {
    const key = newKey()
    pass(10_000)
    expect(await times(4, key)).toEqual([null, null, null, 60])
    pass(-3_600_000)
    expect(await times(4, key)).toEqual([null, null, null, 60])
    pass(3_590_000)
  })

  test('returns whole seconds, and never less than one', async () => {
    const key = newKey()
    await times(3, key)
    pass(100)
    expect(await consume(key, LIMIT)).toBe(60)
    pass(59_899)
    expect(await consume(key, LIMIT)).toBe(1)
  })

  test('allows another attempt for each one given back, also after it rejected some', async () => {
    const key = newKey()
    expect(await times(5, key)).toEqual([null, null, null, 60, 60])
    await giveBack(key, LIMIT)
    expect(await times(2, key)).toEqual([null, 60])
    await giveBack(key, LIMIT)
    await giveBack(key, LIMIT)
    expect(await times(3, key)).toEqual([null, null, 60])
  })

  test("doesn't count rejected attempts, however many are concurrent", async () => {
    const key = newKey()
    await Promise.all(Array.from({ length: 100 }, () => consume(key, LIMIT)))
    for (let i = 0; i < 3; i++) await giveBack(key, LIMIT)
    expect(await times(4, key)).toEqual([null, null, null, 60])
  })

  test('allows exactly the configured number of concurrent attempts after some were given back', async () => {
    const key = newKey()
    await times(5, key)
    await Promise.all([giveBack(key, LIMIT), giveBack(key, LIMIT)])
    const answers = await Promise.all(Array.from({ length: 100 }, () => consume(key, LIMIT)))
    expect(answers.filter((answer) => answer === null)).toHaveLength(2)
  })

  test('allows no more than the limit if an uncounted attempt is given back', async () => {
    const key = newKey()
    expect(await consume(key, LIMIT)).toBeNull()
    for (let i = 0; i < 3; i++) await giveBack(key, LIMIT)
    expect(await times(4, key)).toEqual([null, null, null, 60])
    pass(60_001)
    await giveBack(key, LIMIT)
    expect(await times(4, key)).toEqual([null, null, null, 60])
  })

  test('gives back to only one limit of one key', async () => {
    const key = newKey()
    const longer = { points: 3, duration: 3_600 }
    await times(3, key)
    await times(3, key, longer)
    await giveBack(key, longer)
    expect(await consume(key, LIMIT)).toBe(60)
    expect(await consume(key, longer)).toBeNull()
  })
}

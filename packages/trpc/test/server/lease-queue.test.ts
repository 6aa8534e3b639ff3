import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  createReadQueue,
  LEASE_MS,
  MAX_READS_PER_TURN,
  type ReadQueue,
  Renewals,
} from '../../src/server/lease-queue.ts'

interface Renewal {
  readonly item: number
  readonly at: number
}

let startedAt: number
let renewed: Renewal[]
let renewals: Renewals<number>
let begun: number[]
let queue: ReadQueue
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  startedAt = performance.now()
  renewed = []
  begun = []
  queue = createReadQueue()
  renewals = new Renewals((item) => renewed.push({ item, at: performance.now() - startedAt }))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const keep = (count: number) => {
  for (let item = 0; item < count; item++) renewals.keep(item)
}
/** How many were renewed at once, at each moment. */
const chunks = () => [...Map.groupBy(renewed, ({ at }) => at).values()].map((chunk) => chunk.length)

test('an item is renewed every two seconds', () => {
  renewals.keep(1)
  vi.advanceTimersByTime(1_999)
  expect(renewed).toEqual([])
  vi.advanceTimersByTime(4_101)
  expect(renewed.map(({ at }) => Math.round(at / 1_000))).toEqual([2, 4, 6])
})

test('no timer runs before anything is kept, nor when nothing is kept any more', () => {
  expect(vi.getTimerCount()).toBe(0)
  keep(3)
  renewals.retry(4)
  expect(vi.getTimerCount()).toBe(1)
  for (const item of [0, 1, 2]) renewals.drop(item)
  expect(vi.getTimerCount()).toBe(1)
  renewals.cancelRetry(4)
  expect(vi.getTimerCount()).toBe(0)
})

test.each([1, 499, 501, 10_000, 100_000])(
  'of %i that are due at once, none is renewed twice or late, and no more than 500 together',
  (count) => {
    keep(count)
    vi.advanceTimersByTime(LEASE_MS - 1_000)
    expect(Math.max(...chunks())).toBeLessThanOrEqual(500)
    const first = renewed.slice(0, count)
    expect(first.map(({ item }) => item)).toEqual(Array.from({ length: count }, (_, item) => item))
    expect(first.at(-1)?.at).toBeLessThanOrEqual(3_100)
    expect(first[0]?.at).toBe(2_000)
  },
)

test.each([
  { count: 1_000, pause: 100 },
  { count: 10_000, pause: 50 },
  { count: 100_000, pause: 5 },
])('of $count that are due at once, chunks of 500 are $pause ms apart', ({ count, pause }) => {
  keep(count)
  vi.advanceTimersByTime(3_200)
  const moments = [...new Set(renewed.slice(0, count).map(({ at }) => at))]
  expect(moments).toEqual(moments.map((_, chunk) => 2_000 + chunk * pause))
})

test('those that failed and those that are due share a chunk', () => {
  keep(400)
  vi.advanceTimersByTime(1_500)
  for (let item = 400; item < 800; item++) renewals.retry(item)
  vi.advanceTimersByTime(1_000)
  expect(chunks()).toEqual([500, 300])
})

test('few are not spread for long: the pause between two chunks is 100 ms at most', () => {
  keep(501)
  vi.advanceTimersByTime(2_100)
  expect(chunks()).toEqual([500, 1])
})

test('one that failed is renewed again after half a second, kept or not, until it is settled', () => {
  renewals.retry(7)
  vi.advanceTimersByTime(500)
  expect(renewed).toEqual([{ item: 7, at: 500 }])
  vi.advanceTimersByTime(10_000)
  expect(renewed).toHaveLength(1)
  renewals.retry(7)
  renewals.cancelRetry(7)
  vi.advanceTimersByTime(10_000)
  expect(renewed).toHaveLength(1)
})

test('one that failed does not wait for those that are due later', () => {
  keep(1)
  vi.advanceTimersByTime(1_000)
  renewals.retry(7)
  vi.advanceTimersByTime(500)
  expect(renewed).toEqual([{ item: 7, at: 1_500 }])
})

test('one that is dropped is renewed no more', () => {
  keep(2)
  renewals.drop(0)
  vi.advanceTimersByTime(2_100)
  expect(renewed.map(({ item }) => item)).toEqual([1])
})

test('no timer is set to a moment that has passed, of which the platform would warn, however long a chunk takes', () => {
  const now = performance.now()
  let spentMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now + spentMs)
  const setTimer = vi.spyOn(globalThis, 'setTimeout')
  const slow = new Renewals(() => {
    spentMs += 1
  })
  for (let item = 0; item < 1_000; item++) slow.keep(item)
  spentMs = 2_000
  vi.advanceTimersByTime(2_000)
  const delays = setTimer.mock.calls.map(([, delay]) => delay ?? 0)
  expect(delays.length).toBeGreaterThan(1)
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(0)
})

const runMany = (count: number, from = 0) => {
  for (let read = from; read < from + count; read++) queue(() => void begun.push(read))
}
const upTo = (count: number) => Array.from({ length: count }, (_, read) => read)

test('the first reads of a turn begin at once, the others in the next turns and in order', () => {
  runMany(2 * MAX_READS_PER_TURN + 1)
  expect(begun).toEqual(upTo(MAX_READS_PER_TURN))
  vi.advanceTimersToNextTimer()
  expect(begun).toEqual(upTo(2 * MAX_READS_PER_TURN))
  vi.advanceTimersToNextTimer()
  expect(begun).toEqual(upTo(2 * MAX_READS_PER_TURN + 1))
})

test('a read that comes while others wait does not overtake them', () => {
  runMany(MAX_READS_PER_TURN)
  queue(() => {
    begun.push(MAX_READS_PER_TURN)
    runMany(1, 3 * MAX_READS_PER_TURN)
  })
  runMany(2 * MAX_READS_PER_TURN - 1, MAX_READS_PER_TURN + 1)
  vi.runAllTimers()
  expect(begun).toEqual(upTo(3 * MAX_READS_PER_TURN + 1))
})

test('no turn begins more, also where a read brings further reads', () => {
  const bringTwo = (read: number) => () => {
    begun.push(read)
    if (read < MAX_READS_PER_TURN) for (const further of [1, 2]) queue(bringTwo(read * 2 + further))
  }
  queue(bringTwo(0))
  for (let turn = 1; vi.getTimerCount() > 0; turn++) {
    expect(begun.length).toBeLessThanOrEqual(turn * MAX_READS_PER_TURN)
    vi.advanceTimersToNextTimer()
  }
  expect(begun.toSorted((a, b) => a - b)).toEqual(upTo(2 * MAX_READS_PER_TURN + 1))
})

test('no timer is left when there is nothing to do', () => {
  runMany(3)
  vi.advanceTimersToNextTimer()
  expect(vi.getTimerCount()).toBe(0)
  runMany(1, 3)
  expect(begun).toEqual(upTo(4))
})

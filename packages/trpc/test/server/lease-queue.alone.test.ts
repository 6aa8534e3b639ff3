import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createReadQueue, MAX_READS_PER_TURN, Renewals } from '../../src/server/lease-queue.ts'

const READS = 2 * MAX_READS_PER_TURN + 50

test('begins 100 reads in a turn of the event loop, and lets other work run before the next ones', async () => {
  const queue = createReadQueue()
  const begun: number[] = []
  for (let read = 0; read < READS; read++) queue(() => void begun.push(read))
  expect(begun).toHaveLength(MAX_READS_PER_TURN)
  const perTurn: number[] = []
  let before = begun.length
  while (begun.length < READS) {
    // Timers and sockets come between two of these.
    await new Promise((resolve) => setImmediate(resolve))
    perTurn.push(begun.length - before)
    before = begun.length
  }
  expect(Math.max(...perTurn)).toBe(MAX_READS_PER_TURN)
  expect(begun).toEqual(Array.from({ length: READS }, (_, read) => read))
})

test('begins a read that another read asks for after those that wait', async () => {
  const queue = createReadQueue()
  const begun: number[] = []
  const last = READS
  for (let read = 0; read < READS; read++)
    queue(() => {
      begun.push(read)
      if (read === MAX_READS_PER_TURN) queue(() => void begun.push(last))
    })
  while (begun.length <= last) await new Promise((resolve) => setImmediate(resolve))
  expect(begun.at(-1)).toBe(last)
})

describe('leases', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  /** Creates leases, and the order in which they are renewed. */
  function create(count: number) {
    const renewed: number[] = []
    const leases = Array.from({ length: count }, (_, id) => ({ renew: () => void renewed.push(id) }))
    return { renewals: new Renewals<{ renew(): void }>(), leases, renewed }
  }

  test.each([
    { count: 1_100, pauseMs: 100, pauses: 2 },
    // All within a second.
    { count: 10_000, pauseMs: 50, pauses: 19 },
  ])('that are due together, $count, are renewed by 500 every $pauseMs ms', ({ count, pauseMs, pauses }) => {
    const { renewals, leases, renewed } = create(count)
    for (const lease of leases) renewals.keep(lease)
    vi.advanceTimersByTime(1_999)
    expect(renewed).toHaveLength(0)
    vi.advanceTimersByTime(pauseMs)
    expect(renewed).toHaveLength(500)
    vi.advanceTimersByTime(1)
    expect(renewed).toHaveLength(1_000)
    vi.advanceTimersByTime((pauses - 1) * pauseMs)
    expect(renewed).toEqual(leases.map((_, id) => id))
  })

  test('are renewed every two seconds, until they are dropped', () => {
    const { renewals, leases, renewed } = create(2)
    for (const lease of leases) renewals.keep(lease)
    vi.advanceTimersByTime(4_000)
    expect(renewed).toEqual([0, 1, 0, 1])
    for (const lease of leases) renewals.drop(lease)
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(10_000)
    expect(renewed).toHaveLength(4)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that come one after another share a timer', () => {
    const { renewals, leases } = create(100)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    for (const lease of leases) renewals.keep(lease)
    expect(timers).toHaveBeenCalledOnce()
    timers.mockRestore()
  })

  test('that are tried again come first, and count toward the chunk', () => {
    const { renewals, leases, renewed } = create(800)
    for (const lease of leases.slice(300)) renewals.keep(lease)
    vi.advanceTimersByTime(1_500)
    for (const lease of leases.slice(0, 300)) renewals.retry(lease)
    vi.advanceTimersByTime(500)
    expect(renewed).toEqual(leases.slice(0, 500).map((_, id) => id))
    vi.advanceTimersByTime(100)
    expect(renewed).toHaveLength(800)
  })

  test('are tried again once, half a second after the last request, unless that is canceled', () => {
    const { renewals, leases, renewed } = create(2)
    const [first = expect.fail(), second = expect.fail()] = leases
    renewals.retry(first)
    renewals.retry(second)
    vi.advanceTimersByTime(300)
    renewals.retry(first)
    renewals.cancelRetry(second)
    vi.advanceTimersByTime(499)
    expect(renewed).toEqual([])
    vi.advanceTimersByTime(10_000)
    expect(renewed).toEqual([0])
    expect(vi.getTimerCount()).toBe(0)
  })

  test("that are retried again don't delay the others", () => {
    const { renewals, leases, renewed } = create(2)
    const [first = expect.fail(), second = expect.fail()] = leases
    renewals.retry(first)
    vi.advanceTimersByTime(100)
    renewals.retry(second)
    vi.advanceTimersByTime(200)
    renewals.retry(first)
    vi.advanceTimersByTime(300)
    expect(renewed).toEqual([1])
    vi.advanceTimersByTime(200)
    expect(renewed).toEqual([1, 0])
  })
})

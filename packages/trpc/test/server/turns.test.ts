import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { inTurns, READS_A_TURN } from '../../src/server/turns.ts'

let begun: number[]
let run: (job: () => void) => void
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  begun = []
  run = inTurns()
})
afterEach(() => void vi.useRealTimers())

const runMany = (count: number, from = 0) => {
  for (let job = from; job < from + count; job++) run(() => void begun.push(job))
}
const upTo = (count: number) => Array.from({ length: count }, (_, job) => job)

test('the first jobs of a turn begin at once, the others in the next turns and in order', () => {
  runMany(2 * READS_A_TURN + 1)
  expect(begun).toEqual(upTo(READS_A_TURN))
  vi.advanceTimersToNextTimer()
  expect(begun).toEqual(upTo(2 * READS_A_TURN))
  vi.advanceTimersToNextTimer()
  expect(begun).toEqual(upTo(2 * READS_A_TURN + 1))
})

test('a job that comes while others wait does not overtake them', () => {
  runMany(READS_A_TURN)
  run(() => {
    begun.push(READS_A_TURN)
    runMany(1, 3 * READS_A_TURN)
  })
  runMany(2 * READS_A_TURN - 1, READS_A_TURN + 1)
  vi.runAllTimers()
  expect(begun).toEqual(upTo(3 * READS_A_TURN + 1))
})

test('no turn begins more, also where a job brings further jobs', () => {
  const bringTwo = (job: number) => () => {
    begun.push(job)
    if (job < READS_A_TURN) for (const further of [1, 2]) run(bringTwo(job * 2 + further))
  }
  run(bringTwo(0))
  for (let turn = 1; vi.getTimerCount() > 0; turn++) {
    expect(begun.length).toBeLessThanOrEqual(turn * READS_A_TURN)
    vi.advanceTimersToNextTimer()
  }
  expect(begun.toSorted((a, b) => a - b)).toEqual(upTo(2 * READS_A_TURN + 1))
})

test('no timer is left when there is nothing to do', () => {
  runMany(3)
  vi.advanceTimersToNextTimer()
  expect(vi.getTimerCount()).toBe(0)
  runMany(1, 3)
  expect(begun).toEqual(upTo(4))
})

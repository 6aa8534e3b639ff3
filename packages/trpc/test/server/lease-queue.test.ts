import { expect, test } from 'vitest'
import { createReadQueue, MAX_READS_PER_TURN } from '../../src/server/lease-queue.ts'

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

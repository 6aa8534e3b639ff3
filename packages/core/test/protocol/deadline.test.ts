import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { afterEach, expect, test, vi } from 'vitest'
import { DeadlineError, withDeadline } from '../../src/protocol/deadline.ts'

afterEach(() => void vi.useRealTimers())
const hangs = () => new Promise<never>(() => {})

test('fires after a test of the app has faked the timers, and while it does', async () => {
  vi.useFakeTimers()
  await withDeadline(Promise.resolve(), 10)
  vi.useRealTimers()
  await expect(withDeadline(hangs(), 10)).rejects.toThrow(DeadlineError)

  const real = withDeadline(hangs(), 10)
  vi.useFakeTimers()
  const faked = withDeadline(hangs(), 10)
  vi.advanceTimersByTime(1_000)
  await expect(faked).rejects.toThrow(DeadlineError)
  vi.useRealTimers()
  await expect(real).rejects.toThrow(DeadlineError)
})

test('a response that came while the process was stopped is in time', async () => {
  const { port1, port2 } = new MessageChannel()
  // The timers are next then.
  await setImmediate()
  port1.postMessage('response')
  const response = withDeadline(once(port2, 'message'), 1)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  expect(await response).toEqual(['response'])
  port1.close()
})

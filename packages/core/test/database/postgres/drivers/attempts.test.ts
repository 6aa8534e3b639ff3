import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { connectionAttempts } from '../../../../src/database/postgres/drivers/attempts.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('in an outage, an attempt waits for the one before, but not for one from before a freeze', async () => {
  const attempt = connectionAttempts(2)
  await expect(attempt(() => Promise.reject(new Error('down')))).rejects.toThrow('down')
  await vi.advanceTimersByTimeAsync(1_000)
  void attempt(() => new Promise(() => {}))
  const waiting = vi.fn(async () => {})
  void attempt(waiting)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(waiting).not.toHaveBeenCalled()
  // Only the clock runs on in a freeze.
  vi.setSystemTime(Date.now() + 60_000)
  expect(await attempt(async () => 'connected')).toBe('connected')
  expect(waiting).toHaveBeenCalledOnce()
})

test('after a freeze, nothing waits for an attempt beside which another one failed', async () => {
  const attempt = connectionAttempts(2)
  void attempt(() => new Promise(() => {}))
  await expect(attempt(() => Promise.reject(new Error('down')))).rejects.toThrow('down')
  vi.setSystemTime(Date.now() + 60_000)
  expect(await attempt(async () => 'connected')).toBe('connected')
})

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

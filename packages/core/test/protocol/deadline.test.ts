import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { withDeadline } from '../../src/protocol/deadline.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
})
afterEach(async () => {
  await vi.advanceTimersByTimeAsync(60_000)
  vi.useRealTimers()
})

const never = new Promise<never>(() => {})

/** What has become of a promise by now. */
function watch(promise: Promise<unknown>): { state: string } {
  const watched = { state: 'pending' }
  promise.then(
    () => (watched.state = 'kept'),
    () => (watched.state = 'broken'),
  )
  return watched
}

test('a promise that is kept in time is handed on, and so is one that is broken', async () => {
  await expect(withDeadline(Promise.resolve(7), 1000)).resolves.toBe(7)
  await expect(withDeadline(Promise.reject(new Error('mine')), 1000)).rejects.toThrow('mine')
})

test('a promise is given up after its time, at most 100 ms late, and never before', async () => {
  const call = watch(withDeadline(never, 250))
  await vi.advanceTimersByTimeAsync(249)
  expect(call.state).toBe('pending')
  await vi.advanceTimersByTimeAsync(101)
  expect(call.state).toBe('broken')
})

test('each waits for its own time', async () => {
  const [short, long] = [watch(withDeadline(never, 100)), watch(withDeadline(never, 1000))]
  await vi.advanceTimersByTimeAsync(300)
  expect([short.state, long.state]).toEqual(['broken', 'pending'])
  await vi.advanceTimersByTimeAsync(1000)
  expect(long.state).toBe('broken')
})

test('all waiters share one timer, and none is left without a waiter', async () => {
  const kept = Array.from({ length: 100 }, () => withDeadline(Promise.resolve(), 1000))
  expect(vi.getTimerCount()).toBe(1)
  await Promise.all(kept)
  await vi.advanceTimersByTimeAsync(100)
  expect(vi.getTimerCount()).toBe(0)
})

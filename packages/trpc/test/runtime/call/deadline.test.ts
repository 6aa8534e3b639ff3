import { describe, expect, onTestFinished, test } from 'vitest'
import { startDeadline } from '../../../src/runtime/call/deadline.ts'

function begin(timeoutMs: number, caller?: AbortSignal) {
  const deadline = startDeadline(timeoutMs, caller)
  onTestFinished(deadline.end)
  return deadline
}
const never = () => new Promise<never>(() => {})

describe('what is waited for', () => {
  test('comes as it is', async () => {
    const { wait, signal } = begin(60_000)
    expect(await wait(Promise.resolve(1))).toBe(1)
    await expect(wait(Promise.reject(new RangeError('no')))).rejects.toThrow(RangeError)
    expect(signal.aborted).toBe(false)
  })

  test('is given up when the time is up, and nothing more is waited for', async () => {
    const { wait, signal } = begin(1)
    await expect(wait(never())).rejects.toMatchObject({ code: 'UNDECIDED' })
    await expect(wait(never())).rejects.toMatchObject({ code: 'UNDECIDED' })
    expect(signal.aborted).toBe(true)
  })

  test('is given up when the caller leaves, before or after the beginning, for their reason', async () => {
    const left = new AbortController()
    const earlier = begin(60_000, left.signal)
    const waiting = earlier.wait(never())
    const reason = new Error('gone')
    left.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    const later = begin(60_000, left.signal)
    await expect(later.wait(never())).rejects.toBe(reason)
    expect([earlier.signal.reason, later.signal.reason]).toEqual([reason, reason])
  })
})

test('after its end a caller who leaves is nothing to it, nor is the time', async () => {
  const left = new AbortController()
  const deadline = startDeadline(1, left.signal)
  deadline.end()
  left.abort()
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(deadline.signal.aborted).toBe(false)
})

import type { AuthEvent } from '@sallyport/core'
import { afterEach, beforeEach, expect, type Mock, test, vi } from 'vitest'
import { emit } from '../../src/events/emit.ts'

const event: AuthEvent = { type: 'user.unbanned', at: new Date(0), userId: 'ada', actorId: null, from: null }
const failure = new Error('the log is full')

let print: Mock<typeof console.error>
beforeEach(() => {
  print = vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterEach(() => print.mockRestore())

test('the listener is called of the event, before anything else can happen', () => {
  const listener = vi.fn()
  emit(event, listener)
  expect(listener).toHaveBeenCalledExactlyOnceWith(event)
  expect(print).not.toHaveBeenCalled()
})

test('without a listener nothing happens', () => {
  expect(() => emit(event, undefined)).not.toThrow()
})

test('one that takes its time is not waited for', () => {
  expect(emit(event, () => new Promise(() => {}))).toBeUndefined()
})

test.each([
  [
    'throws',
    () => {
      throw failure
    },
  ],
  ['rejects', () => Promise.reject(failure)],
  ['rejects later', async () => Promise.resolve().then(() => Promise.reject(failure))],
])('what one that %s says is printed, and goes no further', async (_name, listener) => {
  expect(() => emit(event, listener)).not.toThrow()
  await vi.waitFor(() => expect(print).toHaveBeenCalledExactlyOnceWith('onEvent failed:', failure))
})

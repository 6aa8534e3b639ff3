import { vi } from 'vitest'

/** Waits until an expectation holds. */
export function soon<Value>(expectation: () => Value | Promise<Value>, timeout = 30_000): Promise<Value> {
  return vi.waitFor(expectation, { interval: 2, timeout })
}

import { vi } from 'vitest'

/** Waits until an expectation holds. */
export function soon<Value>(expectation: () => Value | Promise<Value>): Promise<Value> {
  return vi.waitFor(expectation, { interval: 2 })
}

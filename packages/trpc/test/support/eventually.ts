import { vi } from 'vitest'

/** Waits until an expectation holds that takes a pause of some seconds. */
export function eventually<Value>(expectation: () => Value | Promise<Value>): Promise<Value> {
  return vi.waitFor(expectation, { interval: 5, timeout: 10_000 })
}

import { vi } from 'vitest'

/** Waits until an expectation holds, which in a page may take a few turns of several processes. */
export function eventually<Value>(expectation: () => Value | Promise<Value>): Promise<Value> {
  return vi.waitFor(expectation, { timeout: 10_000, interval: 20 })
}

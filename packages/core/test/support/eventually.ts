import { vi } from 'vitest'

/** Waits for an expectation that takes a few seconds, or a few turns of several processes, to hold. */
export function eventually<Value>(expectation: () => Value | Promise<Value>): Promise<Value> {
  return vi.waitFor(expectation, { interval: 10, timeout: 30_000 })
}

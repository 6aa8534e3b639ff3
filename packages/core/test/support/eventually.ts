import { vi } from 'vitest'

/** Waits until an expectation holds that takes a pause of some seconds, or a few turns of several processes as in a page. */
export function eventually<Value>(expectation: () => Value | Promise<Value>): Promise<Value> {
  return vi.waitFor(expectation, { interval: 10, timeout: 10_000 })
}

import type { AuthFailure } from '@sallyport/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

beforeEach(() => {
  vi.useFakeTimers()
  vi.resetModules()
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

test('in Cloudflare Workers, failures are still reported after the request whose timer counted them', async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  const { reportFailure } = await import('../../src/events/report-failure.ts')
  const onFailure = vi.fn<(failure: AuthFailure) => void>()
  const config = { onFailure }
  const report = () => reportFailure(new Error('down'), { path: 'me', step: 'step2' }, config)
  const suppressed = () => onFailure.mock.calls.map(([failure]) => failure.suppressed)
  for (let call = 0; call < 3; call++) report()
  vi.clearAllTimers()
  vi.advanceTimersByTime(60_000)
  report()
  expect(suppressed()).toEqual([0])
  vi.advanceTimersByTime(1)
  report()
  expect(suppressed()).toEqual([0, 3])
  report()
  expect(suppressed()).toEqual([0, 3])
})

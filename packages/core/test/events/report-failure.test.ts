import type { AuthFailure } from '@sallyport/core'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../support/until.ts'

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

test('a recovery is reported within a second, or at once if the failure is older', async () => {
  vi.useRealTimers()
  vi.useFakeTimers({ toFake: ['performance'] })
  const { reportFailure, reportRecovery } = await import('../../src/events/report-failure.ts')
  const onFailure = vi.fn<(failure: AuthFailure) => void>()
  const warn = vi.fn()
  process.on('warning', warn)
  onTestFinished(() => void process.off('warning', warn))
  const config = { onFailure }
  reportFailure(new Error('down'), { code: 'FEED_DOWN', path: 'feed', step: 'background' }, config)
  vi.advanceTimersByTime(20_000)
  reportRecovery('FEED_DOWN', 'feed', config)
  await until(() => onFailure.mock.calls.length === 2)
  expect(warn).not.toHaveBeenCalledWith(expect.objectContaining({ name: 'TimeoutNegativeWarning' }))
})

// Part of every test file: at its end, no secret that it issued may appear where others can read it.
import { afterAll, expect, vi } from 'vitest'
import { isAllowed } from './allowed-leaks.ts'
import { leakWatch } from './leak-watch.ts'

// The process may have run another file before.
leakWatch.startOver()

// Registered before any other hook, so it runs last.
afterAll(() => {
  const { testPath = '' } = expect.getState()
  const leaks = leakWatch.takeLeaks()
  // Restores what the next file shares with this one.
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  expect(leaks.filter((leak) => !isAllowed(leak, testPath))).toEqual([])
})

// Part of every test file: at its end no secret that was issued in it may stand where others may read.
import { afterAll, expect, vi } from 'vitest'
import { isAllowed } from './allowed-leaks.ts'
import { leakWatch } from './leak-watch.ts'

// A process may have run another file before.
leakWatch.startOver()

// Registered before any other, so it runs after all others.
afterAll(() => {
  const { testPath = '' } = expect.getState()
  const leaks = leakWatch.takeLeaks()
  // The next file of this process begins with what belongs to all of it as it was.
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  expect(leaks.filter((leak) => !isAllowed(leak, testPath))).toEqual([])
})

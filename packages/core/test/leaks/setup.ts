// Part of every test file: at its end no secret that was issued in it may stand where others may read.
import { afterAll, expect } from 'vitest'
import { isAllowed } from './allowed-leaks.ts'
import { startLeakWatch } from './leak-watch.ts'

export const leakWatch = startLeakWatch()

// Registered before any other, so it runs after all others.
afterAll(() => {
  const { testPath = '' } = expect.getState()
  expect(leakWatch.takeLeaks().filter((leak) => !isAllowed(leak, testPath))).toEqual([])
})

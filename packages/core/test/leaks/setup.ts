// Part of every test file: at its end no secret that was issued in it may stand where others may read.
import { afterAll, expect } from 'vitest'
import { isAllowed } from './allowed-leaks.ts'
import { leakWatch } from './leak-watch.ts'

// A process may have run another file before.
leakWatch.startOver()

// Registered before any other, so it runs after all others.
afterAll(() => {
  const { testPath = '' } = expect.getState()
  expect(leakWatch.takeLeaks().filter((leak) => !isAllowed(leak, testPath))).toEqual([])
})

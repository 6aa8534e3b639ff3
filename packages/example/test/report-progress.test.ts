import { expect, test } from 'vitest'
import { progressOf, withProgress } from '../src/report-progress.ts'

const SALES = { userId: 'grace', id: 'sales' }

/** Starts a report that the test controls. */
function start(key = SALES) {
  let report = (_percent: number): void => {}
  let finish = (): void => {}
  let fail = (_error: Error): void => {}
  const written = withProgress(key, (onProgress) => {
    report = onProgress
    return new Promise<void>((resolve, reject) => {
      finish = resolve
      fail = reject
    })
  })
  return { written, report, finish, fail }
}

/** Reads the progress in the background. */
function watch(report = SALES, signal = new AbortController().signal) {
  const percents: number[] = []
  const result = (async () => {
    for await (const percent of progressOf(report, signal)) percents.push(percent)
    return percents
  })()
  return { percents, result }
}

test('yields the progress in order until the report is written', async () => {
  const { result } = watch()
  const { report, finish, written } = start()
  for (const percent of [0, 40, 80]) report(percent)
  finish()
  await written
  expect(await result).toEqual([0, 40, 80])
})

test('ends when the report fails', async () => {
  const { result } = watch()
  const { report, fail, written } = start()
  report(10)
  fail(new Error('no paper'))
  await expect(written).rejects.toThrow('no paper')
  expect(await result).toEqual([10])
})

test('starts with the current progress', async () => {
  const { report, finish, written } = start()
  for (const percent of [0, 40]) report(percent)
  const { result } = watch()
  report(80)
  finish()
  await written
  expect(await result).toEqual([40, 80])
})

test.each([
  ['another report', { userId: 'grace', id: 'costs' }],
  ['a report of the same id of another user', { userId: 'ada', id: 'sales' }],
])('yields nothing for %s', async (_name, other) => {
  const leave = new AbortController()
  const { percents, result } = watch(other, leave.signal)
  const own = watch()
  const { report, finish, written } = start()
  report(50)
  finish()
  await written
  expect(await own.result).toEqual([50])
  leave.abort()
  await expect(result).rejects.toThrow('aborted')
  expect(percents).toEqual([])
})

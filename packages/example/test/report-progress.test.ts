import { expect, test } from 'vitest'
import { progressOf, withProgress } from '../src/report-progress.ts'

const SALES = { userId: 'grace', id: 'sales' }

/** A report that goes on when it is told to. */
function order(report = SALES) {
  let tell = (_percent: number): void => {}
  let finish = (): void => {}
  let fail = (_error: Error): void => {}
  const written = withProgress(report, (onProgress) => {
    tell = onProgress
    return new Promise<void>((resolve, reject) => {
      finish = resolve
      fail = reject
    })
  })
  return { written, tell, finish, fail }
}

/** Reads to the end in the background. */
function watch(report = SALES, signal = new AbortController().signal) {
  const percents: number[] = []
  const ended = (async () => {
    for await (const percent of progressOf(report, signal)) percents.push(percent)
    return percents
  })()
  return { percents, ended }
}

test('tells how far a report is, in order, until it is written', async () => {
  const { ended } = watch()
  const { tell, finish, written } = order()
  for (const percent of [0, 40, 80]) tell(percent)
  finish()
  await written
  expect(await ended).toEqual([0, 40, 80])
})

test('ends when the report fails, too', async () => {
  const { ended } = watch()
  const { tell, fail, written } = order()
  tell(10)
  fail(new Error('no paper'))
  await expect(written).rejects.toThrow('no paper')
  expect(await ended).toEqual([10])
})

test('tells whoever comes late where it is', async () => {
  const { tell, finish, written } = order()
  for (const percent of [0, 40]) tell(percent)
  const { ended } = watch()
  tell(80)
  finish()
  await written
  expect(await ended).toEqual([40, 80])
})

test.each([
  ['another report', { userId: 'grace', id: 'costs' }],
  ['a report of the same id of another user', { userId: 'ada', id: 'sales' }],
])('is silent about %s', async (_name, other) => {
  const leave = new AbortController()
  const { percents, ended } = watch(other, leave.signal)
  const own = watch()
  const { tell, finish, written } = order()
  tell(50)
  finish()
  await written
  expect(await own.ended).toEqual([50])
  leave.abort()
  await expect(ended).rejects.toThrow('aborted')
  expect(percents).toEqual([])
})

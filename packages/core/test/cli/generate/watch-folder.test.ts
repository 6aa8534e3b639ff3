import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { isWatched, watchFolder } from '../../../src/cli/generate/watch-folder.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { until } from '../../support/until.ts'

const directory = temporaryDirectory()

test.each([
  ['src/auth.ts', true],
  ['src/plugins/deep/nicknames.mts', true],
  ['src/other.js', true],
  ['src/mail.tsx', true],
  ['src/generated-too/auth.ts', true],
  ['src/generated/auth.ts', false],
  ['src/generated/auth.ts.123.tmp', false],
  ['src/node_modules/kit/index.js', false],
  ['src/data/app.db', false],
  ['src/keys.json', false],
  ['src/notes.md', false],
])('a change of %s counts: %s', (path, counts) => {
  expect(isWatched(path, './src/generated')).toBe(counts)
})

test('changes that come together are one', async ({ onTestFinished }) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const started = vi.spyOn(globalThis, 'setTimeout')
  const onChange = vi.fn()
  const folder = join(directory, 'src')
  mkdirSync(join(folder, 'deep'), { recursive: true })
  const stop = watchFolder(folder, { except: join(folder, 'generated'), onChange })
  for (const name of ['a.ts', 'deep/b.ts', 'c.ts']) writeFileSync(join(folder, name), '')
  // Each is told at least once.
  await until(() => started.mock.calls.length >= 3)
  expect(vi.getTimerCount()).toBe(1)
  vi.runAllTimers()
  expect(onChange).toHaveBeenCalledTimes(1)
  writeFileSync(join(folder, 'a.ts'), '//')
  await until(() => vi.getTimerCount() === 1)
  stop()
  expect(vi.getTimerCount()).toBe(0)
})

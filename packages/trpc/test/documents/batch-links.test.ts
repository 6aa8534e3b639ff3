import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_BATCH_SIZE } from '@sallyport/core/internal/protocol'
import { expect, test } from 'vitest'
import { ROOT } from './read-documents.ts'

test('every batch link that readers can copy sends at most as many calls as the server accepts', () => {
  const files = globSync(['docs/*.md', 'packages/example/src/**/*.ts', 'packages/trpc/src/**/*.ts'], {
    cwd: ROOT,
  })
  const links = files.flatMap((file) =>
    Array.from(
      readFileSync(join(ROOT, file), 'utf8').matchAll(/.*\bhttpBatchLink(?:<\w+>)?\(\{.*/g),
      ([line]) => ({
        file,
        line,
      }),
    ),
  )
  expect(links.length).toBeGreaterThan(10)
  expect(links.filter(({ line }) => !line.includes(`maxItems: ${MAX_BATCH_SIZE}`))).toEqual([])
})

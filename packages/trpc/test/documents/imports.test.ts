import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')

test('docs/imports.md lists every exported value: at most 110, from at most 13 entries', async () => {
  const entries = ['core', 'trpc'].flatMap((folder) => {
    const { exports } = JSON.parse(read(`packages/${folder}/package.json`))
    return Object.keys(exports).map((entry) => `@sallyport/${folder}${entry.slice(1)}`)
  })
  const open = entries.filter((entry) => !entry.startsWith('@sallyport/core/internal/'))
  const values = await Promise.all(open.map(async (entry) => Object.keys(await import(entry))))
  const names = [...read('docs/imports.md').matchAll(/^- ((?:`\w+`(?:, )?)+):/gm)]
  const listed = names.flatMap(([, text = '']) => text.match(/\w+/g) ?? [])
  expect(listed.toSorted()).toEqual(values.flat().toSorted())
  expect(values.flat().length).toBeLessThanOrEqual(110)
  expect(new Set(open.map((entry) => entry.replace(/plugins\/.*/, 'plugins'))).size).toBeLessThanOrEqual(13)
})

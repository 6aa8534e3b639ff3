import * as ssr from '@sallyport/trpc/ssr'
import { expect, test } from 'vitest'
import { importsOf, reachableFrom } from './support/imports.ts'

const entry = new URL('../src/ssr.ts', import.meta.url)

test('@sallyport/trpc/ssr exports what its users rely on, and nothing else', () => {
  expect(Object.keys(ssr).sort()).toMatchInlineSnapshot(`
    [
      "createServerAuth",
      "inlineJson",
    ]
  `)
})

test('what finds out for whom a page is rendered reaches neither tRPC, React nor the auth definition, and nothing of Node', () => {
  const files = reachableFrom(entry)
  expect(files.length).toBeGreaterThan(5)
  expect(files.filter(({ pathname }) => !/\/src\/(ssr\.ts$|ssr\/)/.test(pathname))).toEqual([])
  const specifiers = files.flatMap(importsOf).map(({ specifier }) => specifier)
  expect([...new Set(specifiers.filter((specifier) => !specifier.startsWith('.')))].sort()).toEqual([
    '@sallyport/core',
    '@sallyport/core/address',
    '@sallyport/core/protocol',
    '@sallyport/core/service',
  ])
})

import { readdirSync } from 'node:fs'
import * as runtime from '@sallyport/trpc/runtime'
import { expect, test } from 'vitest'
import { importsOf, reachableFrom } from './support/imports.ts'

const folder = new URL('../src/', import.meta.url)
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.ts'),
)

/** The modules that load one of these, by their path. */
function importersOf(specifier: RegExp): string[] {
  return sources
    .filter((path) =>
      importsOf(new URL(path, folder)).some((named) => specifier.test(named.specifier) && !named.isTypeOnly),
    )
    .sort()
}

test('@sallyport/trpc/runtime exports what its users rely on, and nothing else', () => {
  expect(Object.keys(runtime).sort()).toMatchInlineSnapshot(`
    [
      "bindRunner",
      "createAuthRuntime",
      "createInternalHandler",
      "defineInternalFunctions",
      "functionsOf",
      "httpRunner",
      "localRunner",
    ]
  `)
})

test('what calls internal functions from the edge reaches no definition and nothing of Node', () => {
  const files = reachableFrom(new URL('../src/runtime/runner/http-runner.ts', import.meta.url))
  const specifiers = files
    .flatMap(importsOf)
    .flatMap(({ specifier, isTypeOnly }) => (isTypeOnly || specifier.startsWith('.') ? [] : [specifier]))
  expect([...new Set(specifiers)].sort()).toEqual([
    '@sallyport/core',
    '@sallyport/core/service',
    '@trpc/server',
    '@trpc/server/http',
    '@trpc/server/rpc',
  ])
})

test('one module picks an adapter: no other loads them', () => {
  expect(importersOf(/\/(direct-adapter|http-adapter|http-store)\.ts$/)).toEqual([
    'runtime/select-adapter.ts',
  ])
})

test('the endpoints come with getAuth alone, so that runners do without them', () => {
  expect(importersOf(/^@sallyport\/core\/auth$/)).toEqual([
    'runtime/bound-api.ts',
    'runtime/direct-adapter.ts',
    'runtime/get-auth.ts',
  ])
})

test('only actions load the runtime', () => {
  const importers = importersOf(/\/runtime(\/|\.ts$)/).filter((path) => !path.startsWith('runtime'))
  expect(importers).toEqual(['action/admit-to-action.ts'])
})

import * as links from '@sallyport/trpc/links'
import { expect, test } from 'vitest'
import { importsOf, reachableFrom } from './support/imports.ts'

const entry = new URL('../src/links.ts', import.meta.url)

test('@sallyport/trpc/links exports what its users rely on, and nothing else', () => {
  expect(Object.keys(links).sort()).toMatchInlineSnapshot(`
    [
      "authAwareRetry",
      "authAwareRetryDelay",
      "authLink",
      "subscriptionLink",
      "webSocketLink",
    ]
  `)
})

test('the links reach the client, its protocol, and what tRPC has made public', () => {
  const files = reachableFrom(entry)
  expect(files.filter(({ pathname }) => !/\/src\/(links\.ts$|links\/|client\/)/.test(pathname))).toEqual([])
  const specifiers = files.flatMap(importsOf).map(({ specifier }) => specifier)
  expect([...new Set(specifiers.filter((specifier) => !specifier.startsWith('.')))].sort()).toEqual([
    '@sallyport/core/protocol',
    '@trpc/client',
    '@trpc/server',
    '@trpc/server/observable',
    '@trpc/server/rpc',
  ])
})

import * as client from '@sallyport/trpc/client'
import { expect, test } from 'vitest'
import { importsOf, reachableFrom } from './support/imports.ts'

const entry = new URL('../src/client.ts', import.meta.url)

test('@sallyport/trpc/client exports what its users rely on, and nothing else', () => {
  expect(Object.keys(client).sort()).toMatchInlineSnapshot(`
    [
      "AuthClientError",
      "bearer",
      "createAuthClient",
    ]
  `)
})

test('what runs in a browser reaches nothing but @sallyport/core/protocol, types included', () => {
  const files = reachableFrom(entry)
  expect(files.length).toBeGreaterThan(1)
  expect(files.filter(({ pathname }) => !/\/src\/(client\.ts$|client\/)/.test(pathname))).toEqual([])
  const specifiers = files.flatMap(importsOf).map(({ specifier }) => specifier)
  expect([...new Set(specifiers.filter((specifier) => !specifier.startsWith('.')))].sort()).toEqual([
    '@sallyport/core/protocol',
  ])
})

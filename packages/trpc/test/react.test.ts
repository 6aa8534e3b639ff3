import * as react from '@sallyport/trpc/react'
import { expect, test } from 'vitest'
import { importsOf, reachableFrom } from './support/imports.ts'

const entry = new URL('../src/react.ts', import.meta.url)

test('@sallyport/trpc/react exports what its users rely on, and nothing else', () => {
  expect(Object.keys(react).sort()).toMatchInlineSnapshot(`
    [
      "AuthLoading",
      "AuthProvider",
      "SignedIn",
      "SignedOut",
      "useAuth",
      "useSensitive",
      "useSession",
    ]
  `)
})

test('the hooks reach nothing but React, the client and @sallyport/core/protocol, types included', () => {
  const files = reachableFrom(entry)
  expect(files.length).toBeGreaterThan(10)
  expect(files.filter(({ pathname }) => !/\/src\/(react\.ts$|react\/|client\/)/.test(pathname))).toEqual([])
  const imports = files.flatMap(importsOf).filter(({ specifier }) => !specifier.startsWith('.'))
  const loaded = imports.filter(({ isTypeOnly }) => !isTypeOnly).map(({ specifier }) => specifier)
  expect([...new Set(loaded)]).toEqual(['react', '@sallyport/core/protocol'])
  const named = imports.map(({ specifier }) => specifier)
  expect([...new Set(named)].sort()).toEqual(['@sallyport/core/protocol', 'react'])
})

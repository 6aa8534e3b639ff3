import * as server from '@sallyport/trpc'
import { expect, test } from 'vitest'
import { importsOf, reachableFrom } from './support/imports.ts'

const entry = new URL('../src/server.ts', import.meta.url)

test('@sallyport/trpc exports what its users rely on, and nothing else', () => {
  expect(Object.keys(server).sort()).toMatchInlineSnapshot(`
    [
      "assertGuarded",
      "authErrorData",
      "authHandlerOptions",
      "authResponseMeta",
      "bindSession",
      "createAuthContext",
      "createSensitiveSessionMiddleware",
      "endpointErrorData",
      "getSession",
      "optionalSessionMiddleware",
      "rateLimit",
      "refusalMiddleware",
      "requireOrganizationRole",
      "requireRole",
      "sensitiveSessionMiddleware",
      "sessionMiddleware",
      "webSocketOptions",
    ]
  `)
})

test("the module that every procedure imports stays light: neither core's heavy entries nor runtime/ are within reach", () => {
  const files = reachableFrom(entry)
  const imports = files.flatMap(importsOf)
  expect(files.length).toBeGreaterThan(10)
  expect(files.filter(({ pathname }) => !/\/src\/(server\.ts$|server\/)/.test(pathname))).toEqual([])

  const loaded = imports.filter(({ specifier, isTypeOnly }) => !specifier.startsWith('.') && !isTypeOnly)
  expect([...new Set(loaded.map(({ specifier }) => specifier))].sort()).toEqual([
    '@sallyport/core',
    '@sallyport/core/address',
    '@sallyport/core/protocol',
    '@trpc/server',
    '@trpc/server/observable',
  ])
  // The types of a definition are written there, and are gone when it runs.
  const named = imports
    .filter(({ specifier, isTypeOnly }) => !(isTypeOnly && specifier === '@sallyport/core/auth'))
    .map(({ specifier }) => specifier)
  expect(
    named.filter((specifier) => /^@sallyport\/core\/(?!(address|protocol)$)|runtime/.test(specifier)),
  ).toEqual([])
})

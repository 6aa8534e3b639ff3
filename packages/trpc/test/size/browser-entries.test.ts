import { expect, test } from 'vitest'
import { bundleForBrowser } from '../../../../scripts/browser-bundle.ts'

/**
 * The client with React, minified and gzipped, without peers: less than 60% of `better-auth/react`. Of these,
 * 350 bytes are for server-rendered pages: what a client may do on a server, and `redirectTo`.
 */
const LIMIT_BYTES = 7_750

test('the client and its React components together take at most 7,550 bytes', async () => {
  const { code, bytes } = await bundleForBrowser('client', 'react')
  console.log(`client + react: ${bytes} bytes minified and gzipped`)
  // Checks that everything is included, since half of the code would also be small.
  for (const part of [
    'sign-in/email',
    'BroadcastChannel',
    'x-sallyport-session',
    'SESSION_NOT_FRESH',
    'signing-out',
  ])
    expect(code).toContain(part)
  expect(bytes).toBeLessThanOrEqual(LIMIT_BYTES)
})

test("the browser bundle has only core's protocol, no schema library, and nothing of Node", async () => {
  const { files, imports } = await bundleForBrowser('client', 'react')
  const ours = /^packages\/(trpc\/src\/(client|react)\/.*|core\/src\/protocol)\.ts$/
  expect(files.filter((file) => !ours.test(file))).toEqual([])
  expect(files).toContain('packages/core/src/protocol.ts')
  expect(imports.filter((name) => !/^(react|@trpc\/(client|server\/(observable|rpc)))$/.test(name))).toEqual(
    [],
  )
})

test("an app with only the client doesn't load React", async () => {
  const { imports } = await bundleForBrowser('client')
  expect(imports.filter((name) => !name.startsWith('@trpc/'))).toEqual([])
})

test('in production code, the links have no text for developers', async () => {
  const { code } = await bundleForBrowser('links')
  expect(code).toContain('REFRESH_LOOP')
  expect(code).not.toContain('errorFormatter')
})

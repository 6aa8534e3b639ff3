import { expect, test } from 'vitest'
import { bundleForBrowser } from '../../../../scripts/browser-bundle.ts'

/** The client with React, minified and gzipped, without the peers: less than 60% of what `better-auth/react` takes. */
const LIMIT_BYTES = 7 * 1_024

test('the client and its React components together: at most 7 KB', async () => {
  const { code, bytes } = await bundleForBrowser('client', 'react')
  console.log(`client + react: ${bytes} bytes minified and gzipped`)
  // All of it is there: a bundle of half the code would be small as well.
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

test('nothing else gets into the browser: of core the protocol alone, no schema library, nothing of Node', async () => {
  const { files, imports } = await bundleForBrowser('client', 'react')
  const ours = /^packages\/(trpc\/src\/(client|react)\/.*|core\/src\/protocol)\.ts$/
  expect(files.filter((file) => !ours.test(file))).toEqual([])
  expect(files).toContain('packages/core/src/protocol.ts')
  expect(imports.filter((name) => !/^(react|@trpc\/(client|server\/(observable|rpc)))$/.test(name))).toEqual(
    [],
  )
})

test('an app that only has the client does not load React', async () => {
  const { imports } = await bundleForBrowser('client')
  expect(imports.filter((name) => !name.startsWith('@trpc/'))).toEqual([])
})

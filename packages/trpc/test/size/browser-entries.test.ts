import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { bundleForBrowser, bundleModule } from '../../../../scripts/browser-bundle.ts'

const CLIENT = fileURLToPath(new URL('../../src/client.ts', import.meta.url))

/** Minified and gzipped, without peers, in production. */
const LIMITS = {
  clientAndReact: 6_144,
  /** With `AuthProvider`, `useAuth`, `SignedIn`, and `SignedOut` alone. */
  clientAndProvider: 5_491,
  /** What all links add to these two. */
  links: 2_200,
  /** What programs without cookies add to the client. */
  bearer: 288,
  /** What an app with Better Auth adds to Better Auth's client, links included. */
  betterAuthAndLinks: 4_943,
}

test('the client and its React components together take at most 6,144 bytes', async () => {
  const { code, bytes } = await bundleForBrowser('client', 'react')
  console.log(`client + react: ${bytes} bytes minified and gzipped`)
  // Checks that everything is included, since half of the code would also be small.
  for (const part of [
    'organization/',
    'BroadcastChannel',
    'x-sallyport',
    'SESSION_NOT_FRESH',
    'signing-out',
    'REDIRECT_REJECTED',
  ])
    expect(code).toContain(part)
  expect(bytes).toBeLessThanOrEqual(LIMITS.clientAndReact)
})

test('the hooks useSensitive and useSession cost only the apps that import them', async () => {
  const { code, bytes } = await bundleForBrowser('client', 'provider')
  for (const part of ['SESSION_NOT_FRESH', 'getSession']) expect(code).not.toContain(part)
  expect(bytes).toBeLessThanOrEqual(LIMITS.clientAndProvider)
})

test('the links add at most 2,200 bytes', async () => {
  const { bytes: without } = await bundleForBrowser('client', 'react')
  const { code, bytes } = await bundleForBrowser('client', 'links', 'react')
  console.log(`links: ${bytes - without} bytes minified and gzipped`)
  for (const part of [
    'lastEventId',
    'asyncIterator',
    'ORIGIN_REJECTED',
    'withCredentials',
    '4403',
    'retryDelay',
  ])
    expect(code).toContain(part)
  expect(bytes - without).toBeLessThanOrEqual(LIMITS.links)
})

test('bearer tokens and Better Auth cost only the apps that import them', async () => {
  const { code, bytes: client } = await bundleForBrowser('client', 'links', 'react')
  for (const part of ['x-sallyport-session', '$sessionSignal']) expect(code).not.toContain(part)
  const { bytes: own } = await bundleForBrowser('client', 'links', 'react', 'bearer')
  expect(own - client).toBeLessThanOrEqual(LIMITS.bearer)
  const { bytes: betterAuth } = await bundleForBrowser('betterAuth', 'links')
  expect(betterAuth).toBeLessThanOrEqual(LIMITS.betterAuthAndLinks)
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

test("an app that uses no plugin has no plugin's code", async () => {
  const moduleOfPlugin = /plugin|popup|passkey|totp|oauth|openid/i
  const textOfPlugin = /POPUP_BLOCKED|passkey|totp|openid/i
  const { code, files } = await bundleForBrowser('client', 'links', 'react', 'bearer')
  expect(files).toContain('packages/trpc/src/client/auth-client.ts')
  expect(files.filter((file) => moduleOfPlugin.test(file))).toEqual([])
  expect(code).not.toMatch(textOfPlugin)
  // The entry has such code, for the apps that import it.
  const popup = await bundleModule(`export { openPopup } from ${JSON.stringify(CLIENT)}`)
  expect(popup.files.filter((file) => moduleOfPlugin.test(file))).toEqual([
    'packages/trpc/src/client/open-popup.ts',
  ])
  expect(popup.code).toMatch(textOfPlugin)
})

test("an app with only the client doesn't load React", async () => {
  const { imports } = await bundleForBrowser('client')
  expect(imports.filter((name) => !name.startsWith('@trpc/'))).toEqual([])
})

test('production code has no text for developers', async () => {
  const { code } = await bundleForBrowser('client', 'links', 'react')
  expect(code).toContain('REFRESH_LOOP')
  for (const text of ['errorFormatter', 'isServer: false', 'allowedOrigins', 'Check '])
    expect(code).not.toContain(text)
})

// The cookies of a sign-in at a provider on another site, in a real browser.
import { createServer } from 'node:https'
import { getRequestListener } from '@hono/node-server'
import { oauth } from '@sallyport/core/plugins/oauth'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, expect, test } from 'vitest'
import { startLocalProvider } from '../../../core/test/plugins/oauth/local-provider.ts'
import { CLIENT } from '../../../core/test/plugins/oauth/oidc-server.ts'
import { launchChromium } from './launch-chromium.ts'
import { createCertificate } from './serve-two-hosts.ts'

const provider = await startLocalProvider()
const endpoints = { ...CLIENT, issuer: provider.issuer }
const server = createServer(createCertificate())
await new Promise<void>((resolve) => server.listen(0, resolve))
afterAll(() => void server.close())
const address = server.address()
if (typeof address !== 'object' || address === null) throw new TypeError('A port was expected')
const baseUrl = `https://app.example.com:${address.port}`
const auth = await createTestAuth({
  baseUrl,
  plugins: [oauth({ providers: { acme: endpoints, apple: endpoints } })],
})
afterAll(() => auth.close())
const listener = getRequestListener((request) =>
  new URL(request.url).pathname.startsWith('/api/auth')
    ? auth.handler(request)
    : new Response('<!doctype html><title>Page</title>', { headers: { 'content-type': 'text/html' } }),
)
server.on('request', (incoming, outgoing) => void listener(incoming, outgoing))

test.each([
  ['redirects', 'acme'],
  ['posts a form', 'apple'],
])('a provider that %s signs in, and links, in a browser', async (_name, name) => {
  const browser = await launchChromium('--host-resolver-rules=MAP *.example.com 127.0.0.1')
  if (typeof browser === 'string') return expect.fail(browser)
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  const page = await context.newPage()
  const person = () => ({ sub: crypto.randomUUID(), email: `${crypto.randomUUID()}@example.com` })
  const begin = async (path: string, from: string, name: string) => {
    await page.goto(baseUrl + from)
    const body = JSON.stringify({ provider: name, redirectTo: '/home' })
    const options = `{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '${body}' }`
    await page.evaluate(
      `fetch('/api/auth${path}', ${options}).then((r) => r.json()).then(({ url }) => { location.href = url })`,
    )
    await page.waitForURL(/\/home|error=/)
    return page.url().replace(baseUrl, '')
  }

  provider.person = { ...person(), email_verified: true }
  expect(await begin('/sign-in/oauth', '/sign-in', name)).toBe('/home')
  const names = async () => (await context.cookies(baseUrl)).map((cookie) => cookie.name).sort()
  const flow = name === 'apple' ? '__Host-service.oauth-form' : '__Host-service.oauth'
  expect(await names()).toEqual(['__Host-service.device', flow, '__Host-service.session', 'service.jwt'])
  provider.person = { ...person(), email_verified: true }
  expect(await begin('/link-account', '/settings', name === 'acme' ? 'apple' : 'acme')).toBe('/home')
  const accounts = await page.evaluate(`fetch('/api/auth/list-accounts').then((r) => r.json())`)
  expect(accounts).toEqual({ accounts: [expect.anything(), expect.anything()] })
  await browser.close()
})

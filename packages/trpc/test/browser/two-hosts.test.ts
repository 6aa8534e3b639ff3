// The setups of docs/two-hosts.md in a real browser, over https.
import { AUTH_PATH, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { expect, test } from 'vitest'
import { launchChromium } from './launch-chromium.ts'
import { serveTwoHosts } from './serve-two-hosts.ts'

const TOKEN = `${AUTH_PATH}${ENDPOINTS.token.path}`

test.each([
  {
    what: 'hosts of one site',
    page: 'app.example.com',
    options: {},
    domain: 'api.example.com',
    partition: undefined,
  },
  {
    what: 'hosts of one site that share the cookies',
    page: 'app.example.com',
    options: { cookieDomain: 'example.com' },
    domain: '.example.com',
    partition: undefined,
  },
  {
    what: 'sites',
    page: 'app.example.org',
    options: { cookieSameSite: 'none' },
    domain: 'api.example.com',
    partition: 'https://example.org',
  },
] as const)('a page and an API on two $what', async ({ page: host, options, domain, partition }) => {
  await using site = await serveTwoHosts(host, options)
  const browser = await launchChromium(
    '--host-resolver-rules=MAP *.example.com 127.0.0.1, MAP *.example.org 127.0.0.1',
  )
  if (typeof browser === 'string') return expect.fail(browser)
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  const page = await context.newPage()
  const run = (call: string) => page.evaluate(`bundled.${call}`)
  await page.goto(site.origin)

  const { email, userId } = await site.auth.createUser()
  expect(await run(`signIn('${email}', '${TEST_PASSWORD}')`)).toBe(userId)
  expect(await run('me()')).toBe(userId)
  expect(await run('firstTick()')).toBe('ready')
  expect(await page.evaluate('document.cookie')).toBe('')
  const cookies = await context.cookies(`${site.auth.config.baseUrl}/`)
  expect(cookies.map((cookie) => [cookie.domain, cookie.partitionKey])).toEqual(
    Array(3).fill([domain, partition]),
  )
  expect(cookies.every(({ secure, httpOnly }) => secure && httpOnly)).toBe(true)

  site.auth.clock.advance(16 * 60)
  expect(await run('me()')).toBe(userId)
  expect(site.requests.filter((path) => path === TOKEN)).toHaveLength(2)
  expect(await run('signOut()')).toBe('unauthenticated')
  expect(await run('me()')).toBe('SESSION_NOT_FOUND')
  await browser.close()
})

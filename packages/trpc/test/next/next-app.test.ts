import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import type { Browser } from '../../../../scripts/test-apps/app.ts'
import { banInSqlite } from '../../../../scripts/test-apps/ban-in-sqlite.ts'
import { openTour, PROOFS, type Tour } from '../../../../scripts/test-apps/proofs.ts'
import { proveStop } from '../../../../scripts/test-apps/prove-stop.ts'
import type { Server } from '../../../../scripts/test-apps/serve.ts'
import { until } from '../../../core/test/support/until.ts'
import { launchChromium } from '../browser/launch-chromium.ts'
import { cookieFetch } from '../support/cookie-fetch.ts'
import { appKeys } from './app-keys.ts'
import { proveActions } from './prove-actions.ts'
import { runNext, serveNext } from './run-next.ts'
import { writeApp } from './write-app.ts'

// `pnpm test:apps` runs webpack, the development server, and other settings.
let folder: string
let built: string
let server: Server
let browser: Browser | string
let tour: Tour

beforeAll(async () => {
  folder = await writeApp()
  // Without keys and a database.
  built = await runNext(['build'], { cwd: folder })
  const env = await appKeys()
  server = await serveNext({ args: ['start'] }, { cwd: folder, env })
  browser = await launchChromium()
  if (typeof browser === 'string') return
  const ban = (email: string) => banInSqlite(join(folder, 'app.db'), email)
  tour = await openTour({ origin: server.origin, signingKeys: env.SIGNING_KEYS, ban }, browser)
}, 240_000)
afterAll(async () => {
  if (typeof browser === 'object') await browser.close()
  await server?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

test('the app of docs/nextjs.md builds without secrets', () => {
  expect(built).toMatch(/ƒ \/api\/\[\.\.\.path\][\s\S]+ƒ Proxy/)
})

for (const [name, prove] of PROOFS)
  test(name, async (context) => {
    if (typeof browser === 'string') context.skip(browser)
    await prove(tour)
  })

test('a Server Action runs with the same guards, and sets the cookie of a refresh', (context) => {
  if (typeof browser === 'string') context.skip(browser)
  return proveActions(tour.app)
})

test('a request has one page, whose user no call in unstable_cache has', async () => {
  const { fetch, header } = cookieFetch({ origin: server.origin })
  await fetch(`${server.origin}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'edsger@example.com', password: 'a long enough password', name: 'Edsger' }),
  })
  expect(header()).toContain('service.jwt')
  const page = await (await fetch(`${server.origin}/cached`)).text()
  expect(page).toContain('unstable_cache()')
  expect(page).not.toContain('edsger@example.com')
  expect(page).toContain('one page')
})

test('emails to the visitors that signed up are sent with `after`', async () => {
  await until(() => server.output().includes('verify-email'))
  expect(server.output()).not.toContain('AFTER_RESPONSE_FAILED')
})

test('a visitor signs up, out, and in on the page that init writes', async (context) => {
  if (typeof browser === 'string') return context.skip(browser)
  const page = await browser.newPage()
  const email = 'grace.hopper+navy@mail.example.com'
  const submit = async (name: string, password: string) => {
    await page.goto(`${server.origin}/sign-in`)
    await page.getByPlaceholder('Email').fill(email)
    await page.getByPlaceholder('Password').fill(password)
    await page.getByRole('button', { name }).click()
  }
  await submit('Sign up', 'short')
  await page.getByRole('alert').getByText('The request is not valid: password').waitFor()
  expect(await page.getByPlaceholder('Email').inputValue()).toBe(email)
  for (const name of ['Sign up', 'Sign in']) {
    await submit(name, 'a long enough password')
    await page.waitForURL(`${server.origin}/`)
    await page.goto(`${server.origin}/sign-in`)
    // Another page could still show the user if it opened before the response.
    const signedOut = page.waitForResponse(/sign-out/)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await signedOut
  }
  await page.context().close()
})

describe('Hydrated', () => {
  /** Opens a page in a new browser, and holds the requests of the router for other pages. */
  async function open(context: TestContext, path: string) {
    if (typeof browser === 'string') return context.skip(browser)
    const page = await browser.newPage()
    let requests = 0
    let isHeld = false
    await page.route(/_rsc=/, (route) => {
      requests += 1
      return isHeld ? undefined : route.continue()
    })
    await page.goto(`${server.origin}${path}`)
    await page.waitForFunction('window.client !== undefined')
    return {
      page,
      requests: () => requests,
      hold: () => {
        isHeld = true
      },
      async signUp(email: string) {
        const user = { email, password: 'a long enough password', name: 'A user' }
        await page.evaluate(`client.api.signUpEmail(${JSON.stringify(user)})`)
      },
      async close() {
        await page.unrouteAll({ behavior: 'ignoreErrors' })
        await page.context().close()
      },
    }
  }

  test('hides what the server rendered for a user at their sign-out, before a new page arrives', async (context) => {
    const { page, signUp, hold, close } = await open(context, '/greet')
    await signUp('joan@example.com')
    const rendered = page.getByText(/Rendered for (?!a guest)/)
    await rendered.waitFor()
    hold()
    await page.evaluate('client.signOut()')
    await rendered.waitFor({ state: 'detached' })
    await close()
  })

  test('hydrates no query of a cached page for another user', async (context) => {
    const { page, signUp, hold, close } = await open(context, '/greet')
    await page.getByText('Hello guest').waitFor()
    await page.evaluate("router.push('/')")
    await page.getByText('Home').waitFor()
    await signUp('dana@example.com')
    hold()
    await page.goBack()
    await page.getByText('Hello dana@example.com').waitFor()
    await page.getByText('Rendered for a guest').waitFor()
    await close()
  })

  test('shows a page whose user signed in past the client, and signs out with one whose session was revoked', async (context) => {
    const { page, close } = await open(context, '/greet')
    await page.getByText('Rendered for a guest').waitFor()
    const post = async (path: string, data: object) =>
      expect((await page.request.post(`${server.origin}/api/auth/${path}`, { data, headers })).status()).toBe(
        200,
      )
    const headers = { 'x-sallyport': '1' }
    await post('sign-up/email', {
      email: 'ruth@example.com',
      password: 'a long enough password',
      name: 'Ruth',
    })
    await page.evaluate('router.refresh()')
    await page.getByText('Hello ruth@example.com').waitFor()
    await page.getByText(/Rendered for (?!a guest)/).waitFor()
    const cookies = await page.context().cookies()
    await post('sign-out', {})
    await page.context().addCookies(cookies)
    await page.evaluate('router.refresh()')
    await page.getByText('Hello guest').waitFor()
    await close()
  })

  test('refreshes a page of two parts once if the server cannot resolve the user', async (context) => {
    const { page, signUp, requests, close } = await open(context, '/greet')
    await signUp('lynn@example.com')
    await page.getByText(/Rendered for (?!a guest)/).waitFor()
    await page.context().clearCookies()
    const before = requests()
    await page.evaluate('router.refresh()')
    await page.getByText('Rendered for a guest').waitFor()
    await until(() => requests() - before >= 2)
    await page.waitForTimeout(500)
    expect(requests() - before).toBe(2)
    await close()
  })
})

test('a static page that brings a new JWT is stored by no cache', async () => {
  const user = { email: 'mary@example.com', password: 'a long enough password', name: 'Mary' }
  const signedUp = await fetch(`${server.origin}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-sallyport': '1' },
    body: JSON.stringify(user),
  })
  const cookies = signedUp.headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '')
  const cookie = cookies.find((pair) => pair.startsWith('service.session=')) ?? expect.fail()
  const page = `${server.origin}/about`
  const [anonymous, signedIn] = [await fetch(page), await fetch(page, { headers: { cookie } })]
  expect(anonymous.headers.get('cache-control')).toContain('s-maxage')
  expect(signedIn.headers.getSetCookie().join()).toContain('service.jwt=')
  expect(signedIn.headers.get('cache-control')).toBe('private, no-store')
})

test('the server warns once that visitors share rate limits', async () => {
  for (let request = 0; request < 2; request++) await fetch(`${server.origin}/api/auth/session`)
  expect(server.output().match(/without addressHeader/g)).toHaveLength(1)
})

test('the server reports nothing but the rejected actions', () => {
  const errors = server.output().match(/(?:⨯|Route ").*/g) ?? []
  expect(errors.filter((error) => !/TRPCError|Invalid Server Actions request/.test(error))).toEqual([])
})

test('the server stops during a subscription', () => proveStop(server))

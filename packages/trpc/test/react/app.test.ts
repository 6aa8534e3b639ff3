import type { HydrationState } from '@sallyport/core/internal/protocol'
import { TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import type { Page } from 'playwright-core'
import { renderToString } from 'react-dom/server'
import { afterEach, describe, expect, test } from 'vitest'
import { openBrowser } from '../browser/open-browser.ts'
import type { Site } from '../browser/serve-page.ts'
import { MAX_AGE } from '../support/router.ts'
import { createApp } from './pages/create-app.tsx'
import { serveApp } from './serve-app.ts'

const browser = openBrowser()
const entry = new URL('./pages/app-page.tsx', import.meta.url)
type Exports = typeof import('./pages/app-page.tsx')

/** React's warnings: effects that set state in a loop, updates during rendering, and so on. */
const complaints: string[] = []
afterEach(() => expect(complaints.splice(0)).toEqual([]))

async function openBrowserOf(site: Site) {
  const profile = await browser.openProfile(site)
  profile.context.on('console', (message) => {
    const isOfNetwork = /^Failed to load resource|^WebSocket connection/.test(message.text())
    if (/error|warning/.test(message.type()) && !isOfNetwork) complaints.push(message.text())
  })
  return profile
}

/** Opens a browser of a new, signed-in user, without a page. */
async function openProfile(site: Site) {
  const { userId, email } = await site.auth.createUser()
  const session = await site.auth.signIn({ userId })
  const profile = await openBrowserOf(site)
  await profile.signIn(session)
  return { profile, session, email }
}

/** Opens the page of a new user, completely loaded. */
async function openHome(site: Site) {
  const opened = await openProfile(site)
  const tab = await opened.profile.openTab<Exports>()
  await homeOf(opened.session, tab.page)
  await tab.run('takeLog')
  return { ...opened, ...tab }
}

async function homeOf({ userId }: Pick<TestSession, 'userId'>, page: Page): Promise<void> {
  await page.locator('#me', { hasText: userId }).waitFor()
  await page.locator('#clock', { hasText: 'ready' }).waitFor()
  await page.locator('.profile', { hasText: 'Test User' }).nth(2).waitFor()
}

/** Focuses the page, as a user who returns does. */
const focus = (page: Page) => page.evaluate(() => void dispatchEvent(new Event('focus')))

const signedOut = (page: Page) => page.getByText('Sign in').waitFor()

describe.each(['11.25.2', '11.22.1'] as const)('with tRPC %s', (trpc) => {
  test('a user signs in and out: each state is shown in the documented order, and nothing is requested twice', async () => {
    await using site = await serveApp({ entry, trpc })
    const user = await site.auth.createUser()
    const profile = await openBrowserOf(site)
    const { page, run } = await profile.openTab<Exports>()
    await page.getByLabel('Email').fill(user.email)
    await page.getByLabel('Password').fill(TEST_PASSWORD)
    await page.getByLabel('Draft').fill('of nobody')
    await page.getByText('Sign in').click()
    await homeOf(user, page)
    expect(await page.getByLabel('Draft').inputValue()).toBe('')
    const twice = (line: string) => [line, line]
    // React runs the effects of new components twice, and there are two providers.
    expect(await run('takeLog')).toEqual([
      ...twice('shown: loading, false'),
      'state: unauthenticated',
      'shown: unauthenticated, false',
      'sent: /api/auth/sign-in/email',
      'state: authenticated',
      'cancelled',
      'removed',
      ...twice('shown: authenticated, true'),
      `me: ${user.userId}`,
    ])
    expect(site.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /',
      'GET /page.js',
      'GET /api/auth/backend/token',
      'POST /api/auth/sign-in/email',
      ...['GET /api/auth/session', 'GET /trpc/me'],
    ])

    await page.getByLabel('Draft').fill('of the user')
    await page.getByText('Sign out').click()
    await signedOut(page)
    expect(await page.getByLabel('Draft').inputValue()).toBe('')
    const log = await run('takeLog')
    // Before the request to the server, not only after its response.
    expect(log).toContain('disconnected')
    expect(log.indexOf('disconnected')).toBeLessThan(log.indexOf('sent: /api/auth/sign-out'))
    expect(log.filter((line) => line !== 'disconnected')).toEqual([
      'state: signing-out',
      'shown: signing-out, false',
      'sent: /api/auth/sign-out',
      'state: unauthenticated',
      'cancelled',
      'removed',
      ...twice('shown: unauthenticated, false'),
    ])
    expect(await page.locator('.profile').allTextContents()).toEqual([expect.stringMatching(/^\s*Refetch$/)])
    expect(await run('cached')).toEqual([])
    expect(site.stage.abortedAtCleanup).toHaveLength(1)
  })
})

test("when another user signs in, the previous user's data is removed, and pending responses are dropped", async () => {
  await using site = await serveApp({ entry })
  const { profile, session: ada, page, run } = await openHome(site)
  await page.getByLabel('Draft').fill('of ada')
  site.stage.closeGate()
  await page.getByText('Rename').click()
  await page.locator('#me', { hasText: 'renamed' }).waitFor()
  const answers = site.hold('/trpc/me')
  const sessions = site.hold('/api/auth/session')
  await page.getByText('Refresh').click()
  await page.getByText('Refetch').first().click()
  await expect.poll(() => [answers.waiting, sessions.waiting]).toEqual([1, 1])
  await run('takeLog')

  const { userId, email } = await site.auth.createUser()
  const other = await profile.openTab<Exports>()
  await other.run('signIn', email, TEST_PASSWORD)
  await page.locator('.profile', { hasText: 'Who is it?' }).nth(2).waitFor()
  expect(await run('cached')).toEqual([undefined])
  site.stage.openGate()
  answers.release()
  sessions.release()
  await homeOf({ userId }, page)
  expect(await page.getByLabel('Draft').inputValue()).toBe('')
  expect((await run('takeLog')).filter((line) => line.startsWith('me: '))).toEqual([`me: ${userId}`])
  expect(await run('cached')).toEqual([userId])
  expect(await page.content()).not.toContain(ada.userId)
  expect(await page.content()).not.toContain(ada.sessionId)
})

test("a tree that is mounted again after another user has signed in shows none of the previous user's data", async () => {
  await using site = await serveApp({ entry })
  const { profile, page, run } = await openHome(site)
  await run('close')
  const { userId, email } = await site.auth.createUser()
  const other = await profile.openTab<Exports>()
  await other.run('signIn', email, TEST_PASSWORD)
  await expect.poll(() => run('takeLog')).toContain('state: authenticated')
  await run('open')
  await homeOf({ userId }, page)
  expect((await run('takeLog')).filter((line) => line.startsWith('me: '))).toEqual([`me: ${userId}`])
})

test("a tree that was hidden while another user signed in never shows the previous user's data", async () => {
  await using site = await serveApp({ entry })
  const { session: ada, page, run } = await openHome(site)
  await run('show', 'visible')
  await homeOf(ada, page)
  await run('show', 'hidden')
  const { userId, email } = await site.auth.createUser()
  await run('signIn', email, TEST_PASSWORD)
  await page.evaluate(() => {
    const seen: string[] = []
    Object.assign(globalThis, { seen })
    const look = () => {
      for (const element of document.querySelectorAll('#me, .profile'))
        if (element.checkVisibility()) seen.push(String(element.textContent))
    }
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true })
  })
  await run('show', 'visible')
  await homeOf({ userId }, page)
  const seen = await page.evaluate<string[]>('seen')
  expect(seen).toContain(userId)
  expect(seen.join()).not.toMatch(new RegExp(`${ada.userId}|${ada.sessionId}`))
})

test.each([
  { path: '/', where: 'in a boundary above the provider' },
  { path: '/bare', where: 'without a boundary' },
])(
  "while the next user's data suspends $where, the previous user's tree is gone, with its effects",
  async ({ path }) => {
    await using site = await serveApp({ entry: new URL('./pages/suspense-page.tsx', import.meta.url) })
    const { profile, session: ada } = await openProfile(site)
    const { page, run } = await profile.openTab<typeof import('./pages/suspense-page.tsx')>(path)
    await page.locator('#me', { hasText: ada.userId }).waitFor()
    expect(await run('effects')).toEqual([ada.userId])

    site.stage.closeGate()
    const { userId, email } = await site.auth.createUser()
    await run('signIn', email, TEST_PASSWORD)
    await expect.poll(() => site.count('/trpc/slow')).toBe(2)
    expect(await run('effects')).toEqual([])
    expect(await page.content()).not.toContain(ada.userId)
    site.stage.openGate()
    await page.locator('#me', { hasText: userId }).waitFor()
    expect(await run('effects')).toEqual([userId])
  },
)

test('a sensitive call asks for the password, once for two calls, and again after a wrong one', async () => {
  await using site = await serveApp({ entry })
  const { page } = await openHome(site)
  const paid = (status: string) => page.locator('.payment', { hasText: status })
  const dialog = page.getByRole('form', { name: 'Confirm' })
  const answer = async (password: string) => {
    await dialog.getByLabel('Your password').fill(password)
    await dialog.getByText('Confirm', { exact: true }).click()
  }

  site.auth.clock.advance(MAX_AGE + 1)
  await page.getByText('Pay', { exact: true }).click()
  await page.getByText('Pay more').click()
  await answer('a wrong password')
  await dialog.locator('#rejection', { hasText: 'INVALID_CREDENTIALS' }).waitFor()
  await paid('pending').nth(1).waitFor()
  await answer(TEST_PASSWORD)
  await paid('success').nth(1).waitFor()
  expect(await dialog.count()).toBe(0)
  expect(site.count('/api/auth/reauthenticate')).toBe(2)

  site.auth.clock.advance(MAX_AGE + 1)
  await page.getByText('Pay', { exact: true }).click()
  await dialog.getByText('Cancel').click()
  await paid('error').waitFor()
  expect(await dialog.count()).toBe(0)

  await page.getByText('Pay', { exact: true }).click()
  await dialog.waitFor()
  await page.getByText('Sign out').click()
  await signedOut(page)
  expect(await dialog.count()).toBe(0)
})

test('a session that ends elsewhere is shown as ended, without a reload', async () => {
  await using site = await serveApp({ entry })
  const { page, session, run } = await openHome(site)
  await site.auth.revoke(session)
  await signedOut(page)
  expect(await run('cached')).toEqual([])
})

test('a ban is shown, and rejected queries are not retried automatically until it is lifted', async () => {
  await using site = await serveApp({ entry })
  const { profile, session } = await openProfile(site)
  await profile.fakeClock()
  const { page } = await profile.openTab<Exports>()
  await homeOf(session, page)
  await site.auth.ban(session)
  await page.getByText('Refetch').first().click()
  await page
    .locator('.profile', { hasText: /Test User .+ ACCOUNT_BANNED/ })
    .nth(2)
    .waitFor()
  await page.locator('#error', { hasText: 'ACCOUNT_BANNED' }).waitFor()
  expect(await page.locator('#status').textContent()).toBe('authenticated')
  const before = site.count('/api/auth/session')
  await profile.sleep(60)
  await page.getByText('Refetch').first().click()
  await expect.poll(() => site.count('/api/auth/session')).toBe(before + 1)
  await site.auth.db.updateTable('user').set({ banned: false }).where('id', '=', session.userId).execute()
  await focus(page)
  await page.locator('.profile', { hasNotText: 'ACCOUNT_BANNED' }).nth(2).waitFor()
  await profile.sleep(60)
  expect(site.count('/api/auth/session')).toBe(before + 2)
})

describe('while the database is down', () => {
  test('a page that opens shows it and waits: no query fails, and all continue afterwards', async () => {
    await using site = await serveApp({ entry })
    const { profile, session } = await openProfile(site)
    site.isDatabaseDown = true
    const { page, run } = await profile.openTab<Exports>()
    await page.locator('#status', { hasText: 'unknown' }).waitFor()
    await page.locator('#error', { hasText: 'SESSIONS_UNAVAILABLE' }).waitFor()
    await page.getByText('One moment').waitFor()
    expect(await page.getByText('Sign in').count()).toBe(0)
    site.isDatabaseDown = false
    await focus(page)
    await homeOf(session, page)
    expect(await page.locator('#error').textContent()).toBe('')
    expect([site.count('/trpc/me'), site.count('/api/auth/session')]).toEqual([1, 1])
    expect((await run('takeLog')).filter((line) => /^shown: un/.test(line))).toEqual([
      'shown: unknown, false',
    ])
  })

  test('a sign-out shows it and continues, and the page never claims that it is done', async () => {
    await using site = await serveApp({ entry })
    const { page, run } = await openHome(site)
    site.isDatabaseDown = true
    await page.getByText('Sign out').click()
    await page.locator('#error', { hasText: 'SESSIONS_UNAVAILABLE' }).waitFor()
    expect(await page.locator('#status').textContent()).toBe('signing-out')
    await page.getByText('One moment').waitFor()
    site.isDatabaseDown = false
    await focus(page)
    await signedOut(page)
    const [first, ...rest] = (await run('takeLog')).filter((line) => line.startsWith('state'))
    expect(first).toBe('state: signing-out')
    expect(rest).toEqual(['state: signing-out, SESSIONS_UNAVAILABLE', 'state: unauthenticated'])
  })

  test('the user stays visible, and the session is requested again automatically', async () => {
    await using site = await serveApp({ entry })
    const { page } = await openHome(site)
    site.isDatabaseDown = true
    await page.getByText('Refetch').first().click()
    await page
      .locator('.profile', { hasText: /Test User .+ SESSIONS_UNAVAILABLE/ })
      .nth(2)
      .waitFor()
    site.isDatabaseDown = false
    await page.locator('.profile', { hasNotText: 'SESSIONS_UNAVAILABLE' }).nth(2).waitFor()
    expect(site.count('/api/auth/session')).toBe(3)
  })
})

test('a response of another program to the request for the session is not requested again at once', async () => {
  await using site = await serveApp({ entry })
  const { profile, session } = await openProfile(site)
  let requests = 0
  await profile.context.route('**/api/auth/session', async (route) => {
    requests++
    await route.fulfill({ json: { portal: 'welcome' } })
  })
  const { page } = await profile.openTab<Exports>()
  await page.locator('#me', { hasText: session.userId }).waitFor()
  await page.getByText('Refetch').nth(2).waitFor()
  expect(requests).toBe(1)
})

describe('a server-rendered page', () => {
  const entry = new URL('./pages/hydrated-page.tsx', import.meta.url)
  type Exports = typeof import('./pages/hydrated-page.tsx')

  function toPage(hydrate: HydrationState | undefined): Response {
    const html = `<!doctype html><title>Site</title><div id="root">${renderToString(createApp({ hydrate }).element)}</div>
      <script>var hydration = ${JSON.stringify(hydrate)}</script><script src="/page.js"></script>`
    return new Response(html, { headers: { 'content-type': 'text/html' } })
  }

  /** Opens it in a signed-in user's browser, and returns everything the page shows, in order. */
  async function open(path: string, toState: (session: TestSession) => HydrationState | undefined) {
    const rendered = new Map<string, Response>()
    await using site = await serveApp({
      entry,
      handler: (request) => rendered.get(new URL(request.url).pathname) ?? null,
    })
    const { profile, session } = await openProfile(site)
    rendered.set(path, toPage(toState(session)))
    const { page, run } = await profile.openTab<Exports>(path)
    await page.locator('#me', { hasText: session.userId }).waitFor()
    const log = (await run('takeLog')).filter((line) => !line.startsWith('me: '))
    return {
      log: log.filter((line, i) => line !== log[i - 1]),
      refreshes: site.count('/api/auth/backend/token'),
    }
  }

  test('for a signed-in user starts signed in, and sends no request', async () => {
    const { log, refreshes } = await open('/', ({ userId, sessionId }) => ({
      status: 'authenticated',
      userId,
      sessionId,
      expiresIn: 900,
    }))
    expect(log).toEqual(['shown: authenticated, true', 'seen: authenticated'])
    expect(refreshes).toBe(0)
  })

  test.each([
    { path: '/', when: '' },
    { path: '/late', when: ', even if the client has the user before React starts' },
  ])('for an unknown user starts as unknown and requests the session$when', async ({ path }) => {
    const { log, refreshes } = await open(path, () => ({ status: 'unknown' }))
    expect(log).toEqual(['shown: unknown, false', 'shown: authenticated, true', 'seen: authenticated'])
    expect(refreshes).toBe(1)
  })

  test('that the browser prefetched for the previous user shows the current one', async () => {
    const rendered = new Map<string, Response>()
    await using site = await serveApp({
      entry,
      handler: (request) => rendered.get(new URL(request.url).pathname) ?? null,
    })
    const { profile, session: ada } = await openProfile(site)
    const { userId, sessionId } = ada
    rendered.set('/next', toPage({ status: 'authenticated', userId, sessionId, expiresIn: 900 }))
    const { page, run } = await profile.openTab<Exports>()
    await page.evaluate(() => {
      const rules = document.createElement('script')
      rules.type = 'speculationrules'
      rules.textContent = JSON.stringify({ prefetch: [{ urls: ['/next'], eagerness: 'immediate' }] })
      document.head.append(rules)
    })
    await expect.poll(() => site.count('/next')).toBe(1)

    const grace = await site.auth.signIn()
    await profile.signIn(grace)
    await page.evaluate(() => document.location.assign('/next'))
    await page.waitForURL('**/next')
    await expect.poll(() => run('userId')).toBe(grace.userId)
    await page.locator('#me', { hasText: grace.userId }).waitFor()
    await page.locator('.profile', { hasText: grace.sessionId }).nth(1).waitFor()
    expect(site.count('/next')).toBe(1)
    expect(await page.locator('#root').textContent()).not.toContain(sessionId)
  })

  test("by a server that doesn't read cookies starts as loading", async () => {
    const { log, refreshes } = await open('/', () => undefined)
    expect(log).toEqual(['shown: loading, false', 'shown: authenticated, true', 'seen: authenticated'])
    expect(refreshes).toBe(1)
  })
})

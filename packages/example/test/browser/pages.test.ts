import { describe, expect, test } from 'vitest'
import { logOf, openControlRoom } from './open-control-room.ts'
import { overflowOf, tabOrderOf, textOf, violationsOf } from './page-checks.ts'

const room = openControlRoom()

const stranger = room.share(() => room.openBrowser())

const NOTE = `</script><script>document.title = 'taken'</script><img src=x onerror="document.title = 'taken'">`

/** With a row on each page. */
const admin = room.share(async () => {
  const visitor = await room.signUp({ name: 'Ada', role: 'admin' })
  await visitor.call('notes.add', { text: NOTE })
  await visitor.call('report.generate', { id: crypto.randomUUID(), title: 'A report of Ada' })
  return visitor
})

const DEMO = 'In development: ada@example.com or grace@example.com, password: correct horse battery staple'

/** Every page, and what stands on it before any script has run. */
const pages = [
  { path: '/sign-in', title: 'Sign in', enter: stranger, shows: ['Email', 'Password', DEMO] },
  { path: '/sign-up', title: 'Sign up', enter: stranger, shows: ['Name', 'Email', 'Password'] },
  { path: '/notes', title: 'Notes', enter: admin, shows: [NOTE] },
  { path: '/sessions', title: 'Sessions', enter: admin, shows: ['This browser'] },
  { path: '/account', title: 'Account', enter: admin, shows: ['API key'] },
  { path: '/reports', title: 'Reports', enter: admin, shows: ['A report of Ada'] },
  { path: '/admin', title: 'Admin', enter: admin, shows: ['grace@example.com', 'Audit trail'] },
  { path: '/gate', title: 'Gate', enter: admin, shows: ['Step 1: the JWT', 'Step 2: the session'] },
  { path: '/nowhere', title: 'Not found', enter: stranger, shows: ['There is no such page'] },
]

describe('every page', () => {
  test.each(pages)('$path', async ({ path, title, enter, shows }) => {
    const visitor = await enter()
    const { page } = visitor
    await page.setViewportSize({ width: 1280, height: 800 })
    if (title === 'Not found') visitor.mayLog(logOf(404))

    // It comes with its rows from the server, is the same when it is alive,
    const markup = await visitor.open(path)
    expect(markup).not.toMatch(/\sstyle=/)
    const text = await textOf(page, markup)
    expect(text).toEqual(expect.arrayContaining(shows))
    expect(await textOf(page)).toEqual(text)
    expect(await page.title()).toBe(`${title} – Sallyport`)

    // and can be used by everyone: in light or dark, by keyboard alone, in a window of 360 px, in dark or light.
    expect(await violationsOf(page)).toEqual([])
    const { usable, reached } = await tabOrderOf(page)
    expect(usable[0]).toContain('Skip to the page')
    expect(reached).toEqual(usable)
    await page.setViewportSize({ width: 360, height: 800 })
    expect(await overflowOf(page)).toBe(0)
    if (enter === admin)
      expect(await page.getByRole('banner').getByText(visitor.email).isVisible()).toBe(true)
    await page.getByRole('button', { name: 'Light or dark' }).click()
    // Nothing else depends on the colours.
    expect(await violationsOf(page, ['color-contrast'])).toEqual([])
  })
})

describe('the Content-Security-Policy', () => {
  test('has a nonce that is never the same and lets nothing else in', async () => {
    const { context } = await stranger()
    const policies = await Promise.all(
      ['/sign-in', '/sign-in', '/gate'].map(async (path) => {
        const answer = await context.request.get(path)
        const policy = answer.headers()['content-security-policy'] ?? ''
        const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
        const scripts = (await answer.text()).match(/<script(?! type="application\/json")[^>]*/g) ?? []
        expect(scripts.length).toBeGreaterThan(0)
        for (const script of scripts) expect(script).toContain(`nonce="${nonce}"`)
        return { nonce, policy: policy.replaceAll(nonce, '') }
      }),
    )
    expect(new Set(policies.map(({ nonce }) => nonce)).size).toBe(policies.length)
    for (const { nonce, policy } of policies) {
      expect(nonce.length).toBeGreaterThanOrEqual(16)
      expect(policy).toBe(
        "default-src 'none'; script-src 'nonce-' 'strict-dynamic'; style-src 'self' 'nonce-'; img-src 'self' data:; " +
          "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      )
    }
  })

  test('lets a page be read by whoever runs no script', async () => {
    const reader = await room.signUp({ javaScriptEnabled: false })
    await reader.call('notes.add', { text: 'A note to be read' })
    await reader.page.goto('/notes')
    expect(await reader.page.getByText('A note to be read').isVisible()).toBe(true)
  })
})

test('a banned user reads it without any script, and nothing of theirs is in the page', async () => {
  const reader = await room.signUp({ javaScriptEnabled: false })
  await reader.call('notes.add', { text: 'A note to be read' })
  await room.db.updateTable('user').set({ banned: true }).where('id', '=', reader.userId).execute()
  reader.mayLog(logOf(403))
  await reader.page.goto('/notes')
  expect(await reader.page.getByText('Account banned').isVisible()).toBe(true)
  expect(await reader.page.getByRole('heading', { name: 'This account is banned' }).isVisible()).toBe(true)
  const markup = await reader.page.content()
  for (const text of ['A note to be read', reader.email]) expect(markup).not.toContain(text)
})

test('a page is as dark as the system until the user says otherwise, also at the next visit', async () => {
  const { page, open } = await room.openBrowser({ colorScheme: 'dark' })
  const appearance = () => page.evaluate(() => document.documentElement.className)
  await open('/sign-in')
  expect(await appearance()).toBe('dark')
  await page.getByRole('button', { name: 'Light or dark' }).click()
  expect(await appearance()).toBe('light')

  // From the first paint on: before there is a body.
  await page.addInitScript(noteFirstAppearance)
  await open('/sign-in')
  expect(await page.evaluate(() => firstAppearance)).toBe('light')
  expect(await appearance()).toBe('light')
})

test('scripts and styles are compressed, kept, and taken for nothing else', async () => {
  const { context, page, open } = await stranger()
  await open('/sign-in')
  const urls = await page
    .locator('script[src], link[rel=stylesheet]')
    .evaluateAll((elements) =>
      elements.map((element) => element.getAttribute('src') ?? element.getAttribute('href') ?? ''),
    )
  expect(urls.length).toBe(2)
  for (const url of urls)
    expect((await context.request.get(url)).headers()).toMatchObject({
      'content-encoding': 'gzip',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    })
})

test('whoever is signed in is led away from the sign-in before anything is rendered', async () => {
  const { context } = await admin()
  const answer = await context.request.get('/sign-in', { maxRedirects: 0 })
  expect(answer.status()).toBe(302)
  expect(answer.headers()).toMatchObject({ location: '/notes', 'cache-control': 'private, no-store' })
})

test('the skip link leads past the navigation', async () => {
  const { page, open } = await stranger()
  await open('/sign-in')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  expect(await page.getByLabel('Email').evaluate((field) => field === document.activeElement)).toBe(true)
})

test('every link leads to a page that is tried here, and shows it without loading anew', async () => {
  const { page, open } = await admin()
  await page.setViewportSize({ width: 1280, height: 800 })
  await open('/gate')
  const links = page.getByRole('navigation').getByRole('link')
  const names = await links.allTextContents()
  for (const name of names) {
    await links.filter({ hasText: name }).click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
    expect(await page.title()).toBe(`${name} – Sallyport`)
    expect(await page.getByRole('main').evaluate((main) => main === document.activeElement)).toBe(true)
  }
  expect(names).toEqual(pages.filter(({ enter }) => enter === admin).map(({ title }) => title))
})

declare const firstAppearance: string

/** Runs in the page before its own scripts. */
function noteFirstAppearance(): void {
  const observer = new MutationObserver(() => {
    if (document.body === null) return
    observer.disconnect()
    Object.assign(globalThis, { firstAppearance: document.documentElement.className })
  })
  observer.observe(document, { subtree: true, childList: true })
}

import { describe, expect, test } from 'vitest'
import { logOf, longTest, newEmail, openControlRoom, PASSWORD } from './open-control-room.ts'
import { overflowOf, tabOrderOf, textOf, violationsOf } from './page-checks.ts'

const room = openControlRoom()

const guest = room.share(() => room.openBrowser())

const NOTE = `</script><script>document.title = 'taken'</script><img src=x onerror="document.title = 'taken'">`

/** With a row on each page. */
const admin = room.share(async () => {
  const visitor = await room.signUp({ name: 'Ada', role: 'admin' })
  await visitor.call('notes.add', { text: NOTE })
  await visitor.call('report.generate', { id: crypto.randomUUID(), title: 'A report of Ada' })
  await visitor.call('organizations.create', { name: 'Acme' })
  // The first read of the audit trail adds a record to it.
  await visitor.context.request.get('/admin/audit')
  return visitor
})

/** Every page, and its content before any script has run. */
const pages = [
  {
    path: '/sign-in',
    title: 'Sign in',
    enter: guest,
    shows: ['Email or username', 'Password', 'Sign in as Ada', 'Sign in as Grace'],
  },
  { path: '/sign-up', title: 'Sign up', enter: guest, shows: ['Name', 'Email', 'Password'] },
  { path: '/forgot-password', title: 'Forgot password', enter: guest, shows: ['Send link'] },
  { path: '/reset-password', title: 'New password', enter: guest, shows: ['Set password'] },
  { path: '/email-link', title: 'Sign in by email', enter: guest, shows: ['Sign in'] },
  { path: '/verify-email', title: 'Confirm your email', enter: guest, shows: ['Confirm email'] },
  { path: '/undo-email-change', title: 'Undo the email change', enter: guest, shows: ['Restore email'] },
  { path: '/notes', title: 'Notes', enter: admin, shows: [NOTE] },
  { path: '/reports', title: 'Reports', enter: admin, shows: ['A report of Ada'] },
  { path: '/organizations', title: 'Organizations', enter: admin, shows: ['Acme', 'Active', 'owner'] },
  { path: '/join', title: 'Invitation', enter: admin, shows: ['Accept invitation'] },
  { path: '/sessions', title: 'Sessions', enter: admin, shows: ['This browser'] },
  { path: '/account', title: 'Account', enter: admin, shows: ['API key', 'Devices', 'This browser'] },
  { path: '/admin', title: 'Users', enter: admin, shows: ['grace@example.com'] },
  { path: '/admin?search=grace%40', title: 'Users', enter: admin, shows: ['grace@example.com', 'Users: 1'] },
  { path: '/admin/users/:id', title: 'User', enter: admin, shows: ['Role', 'Sessions'] },
  { path: '/admin/audit', title: 'Audit trail', enter: admin, shows: ['user.created'] },
  {
    path: '/admin/audit?type=user.created&user=unknown%40example.com',
    title: 'Audit trail',
    enter: admin,
    shows: ['No records match these filters.'],
  },
  { path: '/gate', title: 'Gate', enter: admin, shows: ['Step 1: the JWT', 'Step 2: the session'] },
  { path: '/nowhere', title: 'Not found', enter: guest, shows: ['Page not found', 'Go to the home page'] },
]

const SOME_PAGES = new Set(['/sign-in', '/notes', '/account', '/admin/users/:id', '/gate', '/nowhere'])

describe('every page', () => {
  for (const { path, title, enter, shows } of pages)
    (SOME_PAGES.has(path) ? test : longTest)(path, async () => {
      const visitor = await enter()
      const { page } = visitor
      await page.setViewportSize({ width: 1280, height: 800 })
      if (title === 'Not found') visitor.mayLog(logOf(404))

      // The server renders it with its rows, and hydration changes nothing.
      const markup = await visitor.open(path.replace(':id', await otherUser()))
      expect(markup).not.toMatch(/\sstyle=/)
      const text = await textOf(page, markup)
      expect(text).toEqual(expect.arrayContaining(shows))
      expect(await textOf(page)).toEqual(text)
      expect(await page.title()).toBe(`${title} – Sallyport`)

      // Accessible by axe, by keyboard, in a window of 360 px, in light and dark.
      expect(await violationsOf(page)).toEqual([])
      const { usable, reached } = await tabOrderOf(page)
      expect(usable[0]).toContain('Skip to content')
      expect(reached).toEqual(usable)
      await page.setViewportSize({ width: 360, height: 800 })
      expect(await overflowOf(page)).toBe(0)
      if (enter === admin)
        expect(await page.getByRole('banner').getByText(visitor.email).isVisible()).toBe(true)
      await page.getByRole('button', { name: 'Toggle dark mode' }).click()
      // Only the contrast depends on the colors.
      expect(await violationsOf(page, ['color-contrast'])).toEqual([])
    })
})

describe('the Content-Security-Policy', () => {
  test('has a new nonce for each response and allows nothing else', async () => {
    const { context } = await guest()
    const policies = await Promise.all(
      ['/sign-in', '/sign-in', '/gate'].map(async (path) => {
        const answer = await context.request.get(path, { maxRetries: 1 })
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

  test('allows a page to be read without scripts', async () => {
    const reader = await room.signUp({ javaScriptEnabled: false })
    await reader.call('notes.add', { text: 'A note to be read' })
    await reader.page.goto('/notes')
    expect(await reader.page.getByText('A note to be read').isVisible()).toBe(true)
  })
})

describe('without JavaScript', () => {
  test('a guest signs in on the page they opened, after a wrong password', async () => {
    const { page, mayLog } = await room.openBrowser({ javaScriptEnabled: false })
    const { email } = await room.createUser('A note')
    mayLog(logOf(401))
    await page.goto('/sessions')
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill('a wrong password')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('alert').getByText('Email or password is wrong').waitFor()
    expect(await page.getByLabel('Email').inputValue()).toBe(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('This browser', { exact: true }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/sessions')
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  })

  longTest('a guest signs up, after an email that is taken', async () => {
    const { page, mayLog } = await room.openBrowser({ javaScriptEnabled: false })
    mayLog(logOf(409))
    const email = newEmail()
    await page.goto('/sign-up')
    await page.getByLabel('Name').fill('Alan')
    await page.getByLabel('Email').fill('grace@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByRole('alert').getByText('An account with this email exists').waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('Alan')
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByRole('banner').getByText(email).waitFor()
  })

  longTest('a demo user signs in, and a link for a new password is requested', async () => {
    const { page } = await room.openBrowser({ javaScriptEnabled: false })
    await page.goto('/forgot-password')
    await page.getByLabel('Email').fill(newEmail())
    await page.getByRole('button', { name: 'Send link' }).click()
    await page.getByText('If this account exists, the link has been sent.').waitFor()
    await page.goto('/sign-in')
    await page.getByRole('button', { name: 'Sign in as Grace' }).click()
    await page.getByRole('banner').getByText('grace@example.com').waitFor()
  })
})

test('a banned user without scripts sees the ban and none of their data', async () => {
  const reader = await room.signUp({ javaScriptEnabled: false })
  await reader.call('notes.add', { text: 'A note to be read' })
  await room.db.updateTable('user').set({ banned: true }).where('id', '=', reader.userId).execute()
  reader.mayLog(logOf(403))
  await reader.page.goto('/notes')
  expect(await reader.page.getByRole('heading', { name: 'Account banned' }).isVisible()).toBe(true)
  const markup = await reader.page.content()
  for (const text of ['A note to be read', reader.email]) expect(markup).not.toContain(text)
})

longTest('a page has the theme of the system until the user chooses one, which it remembers', async () => {
  const { page, open } = await room.openBrowser({ colorScheme: 'dark' })
  const appearance = () => page.evaluate(() => document.documentElement.className)
  await open('/sign-in')
  expect(await appearance()).toBe('dark')
  await page.getByRole('button', { name: 'Toggle dark mode' }).click()
  expect(await appearance()).toBe('light')

  // Set before the first paint.
  await page.addInitScript(noteFirstAppearance)
  await open('/sign-in')
  expect(await page.evaluate(() => firstAppearance)).toBe('light')
  expect(await appearance()).toBe('light')
})

longTest(
  'a browser that blocks cookies shows the theme of the system, and says why no one can sign in',
  async () => {
    const { context, page, open, mayLog } = await room.openBrowser({ colorScheme: 'dark' })
    mayLog(logOf(401))
    await page.addInitScript(blockCookies)
    await page.route('**/sign-in/email', async (route) => {
      const response = await route.fetch()
      await context.clearCookies()
      const { 'set-cookie': _, ...headers } = response.headers()
      await route.fulfill({ response, headers })
    })
    await open('/sign-in')
    expect(await page.evaluate(() => document.documentElement.className)).toBe('dark')
    await page.getByRole('button', { name: 'Toggle dark mode' }).click()
    expect(await page.evaluate(() => document.documentElement.className)).toBe('light')
    await page.getByRole('button', { name: 'Sign in as Grace' }).click()
    await page.getByText('This browser blocks cookies.').waitFor()
  },
)

/** Runs in the page, before its scripts. */
function blockCookies(): void {
  Object.defineProperty(navigator, 'cookieEnabled', { value: false })
  Object.defineProperty(window, 'localStorage', {
    get() {
      throw new DOMException('Access is denied for this document.', 'SecurityError')
    },
  })
}

longTest('with forced colors, fields, buttons, and the selected options are visible', async () => {
  const { page, open } = await room.signUp({ forcedColors: 'active' })
  await open('/account')
  const styles = await page
    .locator('main :is(.rt-TextFieldRoot, button, input[type=radio])')
    .evaluateAll((elements) =>
      elements
        .map((element) => getComputedStyle(element))
        .map((style) => [style.borderWidth, style.appearance]),
    )
  expect(new Set(styles.map(([border, appearance]) => border === '1px' || appearance === 'auto'))).toEqual(
    new Set([true]),
  )
})

test('scripts and styles are compressed, cached, and not sniffed', async () => {
  const { context, page, open } = await guest()
  await open('/sign-in')
  const urls = await page
    .locator('script[src], link[rel=stylesheet]')
    .evaluateAll((elements) =>
      elements.map((element) => element.getAttribute('src') ?? element.getAttribute('href') ?? ''),
    )
  expect(urls.length).toBe(2)
  for (const url of urls)
    expect((await context.request.get(url, { maxRetries: 1 })).headers()).toMatchObject({
      'content-encoding': 'gzip',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    })
})

test('a signed-in user is redirected from the sign-in page', async () => {
  const { context } = await admin()
  const answer = await context.request.get('/sign-in', { maxRedirects: 0, maxRetries: 1 })
  expect(answer.status()).toBe(302)
  expect(answer.headers()).toMatchObject({ location: '/notes', 'cache-control': 'private, no-store' })
})

longTest('the skip link skips the navigation', async () => {
  const { page, open } = await guest()
  await open('/sign-in')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  expect(await page.getByLabel('Email').evaluate((field) => field === document.activeElement)).toBe(true)
})

longTest('every link of the navigation opens its page without a reload', async () => {
  const { page, open } = await admin()
  await page.setViewportSize({ width: 1280, height: 800 })
  await open('/gate')
  const links = page.getByRole('navigation').getByRole('link')
  const names = await links.allTextContents()
  for (const name of names) {
    await links.getByText(name, { exact: true }).click()
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
    expect(await page.title()).toBe(`${name} – Sallyport`)
    expect(await page.getByRole('main').evaluate((main) => main === document.activeElement)).toBe(true)
  }
  const titles = pages.filter(({ enter }) => enter === admin).map(({ title }) => title)
  expect(names).toEqual([...new Set(titles)].filter((title) => title !== 'Invitation' && title !== 'User'))
})

/** The id of another user, for the page of a user. */
async function otherUser(): Promise<string> {
  const users = room.db.selectFrom('user').select('id').where('email', '=', 'grace@example.com')
  return (await users.executeTakeFirstOrThrow()).id
}

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

import { expect } from 'vitest'
import { logOf, openControlRoom, longTest as test } from './open-control-room.ts'

const room = openControlRoom()

const admin = room.share(() => room.signUp({ name: 'Ada', role: 'admin' }))

test.each([
  { link: 'Notes', text: 'Loading notes …' },
  { link: 'Reports', text: 'Loading reports …' },
  { link: 'Organizations', text: 'Loading organizations …' },
  { link: 'Sessions', text: 'Loading sessions …' },
  { link: 'Users', text: 'Loading users …' },
  { link: 'Audit trail', text: 'Loading the audit trail …' },
  { link: 'Gate', text: 'Loading the result of both checks …' },
])('$link shows that it is loading until the server responds', async ({ link, text }) => {
  const { page, open } = await admin()
  // This page fetches none of their data.
  await open('/join')
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/trpc/**', (route) => released.then(() => route.continue()))
  await page.getByRole('navigation', { name: 'Pages' }).getByText(link, { exact: true }).click()
  const loading = page.getByRole('status').filter({ hasText: text })
  await loading.waitFor()
  expect(await loading.getAttribute('aria-busy')).toBe('true')
  expect(await page.getByRole('heading', { level: 1, name: link }).isVisible()).toBe(true)
  release()
  await loading.waitFor({ state: 'detached' })
  await page.unroute('**/trpc/**')
})

test('the page of a user shows that it is loading', async () => {
  const { page, open, email } = await admin()
  await open('/admin')
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/trpc/**', (route) => released.then(() => route.continue()))
  await page.getByRole('link', { name: email }).click()
  const loading = page.getByRole('status').filter({ hasText: 'Loading the user …' })
  await loading.waitFor()
  expect(await loading.getAttribute('aria-busy')).toBe('true')
  release()
  await loading.waitFor({ state: 'detached' })
  await page.unroute('**/trpc/**')
})

test('a page for anyone shows a ban, and the user can sign out there', async () => {
  const { page, open, mayLog, userId } = await room.signUp()
  mayLog(logOf(403))
  await room.db.updateTable('user').set({ banned: true }).where('id', '=', userId).execute()
  await open('/gate')
  await page.getByRole('alert').getByText('Account banned').waitFor()
  await page.getByRole('heading', { name: 'Gate' }).waitFor()
  await page.getByRole('main').getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('alert').getByText('Account banned').waitFor({ state: 'detached' })
})

test.each([
  { path: '/notes', text: 'No notes yet. Write the first one above.' },
  { path: '/reports', text: 'No reports yet. Enter a title above to generate one.' },
  { path: '/organizations', text: 'No organizations yet. Create one above, or open an invitation.' },
])('$path has a text for an empty list', async ({ path, text }) => {
  const { page, open } = await admin()
  await open(path)
  await page.getByText(text).waitFor()
})

test('a failed query shows its error and can be repeated', async () => {
  const { page, open, mayLog } = await room.signUp({ role: 'admin' })
  mayLog(logOf(400))
  await open('/admin/audit?cursor=broken')
  await page.getByRole('button', { name: 'Try again' }).waitFor()
  // The page may render once more when it is hydrated.
  const texts = () => page.getByRole('alert').allTextContents()
  await expect.poll(async () => (await texts()).join('')).not.toBe('')
})

test('an unknown page links to the home page', async () => {
  const { page, open, mayLog } = await room.openBrowser()
  mayLog(logOf(404))
  await open('/nowhere')
  expect(await page.title()).toBe('Not found – Sallyport')
  await page.getByRole('link', { name: 'Go to the home page' }).click()
  await page.getByLabel('Email').waitFor()
  expect(new URL(page.url()).pathname).toBe('/notes')
})

test('a time is relative, exact on hover, and the same after hydration in another time zone', async () => {
  const timezoneId = 'Pacific/Auckland'
  const { page, open, sessionId } = await room.signUp({ timezoneId, locale: 'de-DE' })
  await page.clock.install()
  const createdAt = new Date(Date.now() - 2 * 3_600_000 - 58 * 60_000)
  await room.db.updateTable('session').set({ createdAt }).where('id', '=', sessionId).execute()
  const iso = createdAt.toISOString()
  expect(await open('/sessions')).toContain(
    `<time dateTime="${iso}" title="${iso.slice(0, 19).replace('T', ' ')} UTC" class="time">2 hours ago</time>`,
  )

  const times = page.getByRole('listitem').locator('time')
  await expect.poll(() => times.allTextContents()).toEqual(['2 hours ago', 'just now', 'in 29 days'])
  const options = { dateStyle: 'medium', timeStyle: 'medium', timeZone: timezoneId } as const
  const exact = new Intl.DateTimeFormat('de-DE', options).format(createdAt)
  expect(await times.first().getAttribute('title')).toBe(exact)
  // It follows the clock.
  await page.clock.runFor(3 * 60_000)
  await expect.poll(() => times.allTextContents()).toEqual(['3 hours ago', '3 minutes ago', 'in 29 days'])
})

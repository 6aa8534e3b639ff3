import { describe, expect } from 'vitest'
import { logOf, newEmail, openControlRoom, PASSWORD, longTest as test } from './open-control-room.ts'
import type { Visitor } from './visitor.ts'

const room = openControlRoom()

const LIMITED = { code: 'RATE_LIMITED', message: 'Too many' }

const ada = room.share(() => room.signUp({ name: 'Ada', role: 'admin' }))

/** Ends the freshness of a user's sessions. */
const endFreshness = ({ userId }: Visitor) =>
  room.db
    .updateTable('session')
    .set({ lastAuthenticatedAt: new Date(Date.now() - 16 * 60_000) })
    .where('userId', '=', userId)
    .execute()

describe('a ban', () => {
  test('"Try again" checks at once', async () => {
    const user = await room.signUp()
    user.mayLog(logOf(403))
    const setBanned = (banned: boolean) =>
      room.db.updateTable('user').set({ banned }).where('id', '=', user.userId).execute()
    await setBanned(true)
    // A hidden page checks at clicks alone. Otherwise, the button could disappear before the click.
    await user.page.addInitScript(() => Object.defineProperty(document, 'hidden', { value: true }))
    await user.open('/notes')
    await user.page.getByRole('heading', { name: 'Account banned' }).waitFor()
    await setBanned(false)
    await user.page.getByRole('button', { name: 'Try again' }).click()
    await user.page.getByLabel('New note').waitFor()
  })

  test('the user can sign out', async () => {
    const { page, open, mayLog, userId, titles } = await room.signUp()
    mayLog(logOf(403))
    await room.db.updateTable('user').set({ banned: true }).where('id', '=', userId).execute()
    await open('/notes')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Email').waitFor()
    expect(await page.getByText('Account banned').count()).toBe(0)
    expect((await titles()).slice(-3)).toEqual(['Account banned', 'Signing out …', 'Sign in'])
  })
})

test('the audit trail and a ban ask for the password if the session is not fresh', async () => {
  const admin = await room.signUp({ role: 'admin' })
  const user = await room.signUp()
  admin.mayLog(logOf(403))
  const { page } = admin
  const question = page.getByRole('dialog', { name: 'Confirm your password' })
  const confirm = async () => {
    await question.getByLabel('Password').fill(PASSWORD)
    await question.getByRole('button', { name: 'Confirm' }).click()
    await question.waitFor({ state: 'detached' })
  }
  await endFreshness(admin)
  await admin.open('/admin/audit')
  await page.getByText('The audit trail requires a recent sign-in.').waitFor()
  expect(await question.count()).toBe(0)
  await page.getByRole('button', { name: 'Confirm your password' }).click()
  await question.getByRole('button', { name: 'Cancel' }).click()
  await question.waitFor({ state: 'detached' })
  expect((await page.getByRole('alert').allTextContents()).join('')).toBe('')
  await page.getByRole('button', { name: 'Confirm your password' }).click()
  await confirm()
  await page.getByText(`${user.email} was created.`).waitFor()

  await admin.open(`/admin/users/${user.userId}`)
  await endFreshness(admin)
  await page.getByRole('button', { name: 'Ban' }).click()
  const dialog = page.getByRole('dialog', { name: `Ban ${user.email}?` })
  await dialog.getByRole('button', { name: 'Ban' }).click()
  await confirm()
  await page.getByText(/Banned until/).waitFor()

  await endFreshness(admin)
  await page.getByRole('button', { name: 'Lift ban' }).click()
  // For users without a password.
  await question.getByRole('button', { name: 'Sign in again' }).click()
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
})

test('an unknown user is not found, with a link to all users', async () => {
  const { page, open, mayLog } = await ada()
  mayLog(logOf(404))
  await open('/admin/users/unknown')
  await page.getByText('User not found').waitFor()
  expect(await page.getByRole('link', { name: 'All users' }).getAttribute('href')).toBe('/admin')
})

test('a list with more pages says so, and links to them', async () => {
  const { page, open } = await ada()
  const columns = { image: null, emailVerified: false, role: 'user', banned: false, locale: 'en' }
  const createdAt = new Date(Date.now() - 60_000)
  const users = Array.from({ length: 30 }, (_, i) => ({
    ...columns,
    ...{ id: crypto.randomUUID(), name: `Many ${i}`, email: newEmail(), createdAt, updatedAt: createdAt },
  }))
  await room.db.insertInto('user').values(users).execute()
  await open('/admin')
  const user = await room.signUp()
  // Live.
  await page.getByRole('link', { name: user.email }).waitFor()
  await open('/admin?search=many')
  await page.getByRole('status').getByText('Users: 25+', { exact: true }).waitFor()
  expect(await page.getByRole('table').getByRole('link').count()).toBe(25)
  await page.getByRole('link', { name: 'Next page' }).click()
  await page.getByRole('status').getByText('Users on this page: 5', { exact: true }).waitFor()
  expect(await page.getByRole('link', { name: 'Next page' }).count()).toBe(0)
  await page.getByRole('link', { name: 'First page' }).click()
  await page.getByText('Users: 25+').waitFor()

  await page.getByLabel('Name or email').fill(users[7]?.email ?? '')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByText('Users: 1', { exact: true }).waitFor()
  const field = page.getByLabel('Name or email')
  await field.fill('no such user')
  await page.keyboard.press('Enter')
  await page.getByText('No users found.').waitFor()
  expect(await field.evaluate((element) => element === document.activeElement)).toBe(true)
  await page.goBack()
  await page.getByText('Users: 1', { exact: true }).waitFor()
  expect(await field.inputValue()).toBe(users[7]?.email)
})

test('a dialog with a long email fits on a small screen, and forgets the error of its last use', async () => {
  const { page, open, mayLog } = await room.signUp({ role: 'admin', viewport: { width: 320, height: 500 } })
  const { userId } = await room.signUp()
  const email = `a-person-with-a-very-long-name.${newEmail()}`
  await room.db.updateTable('user').set({ email }).where('id', '=', userId).execute()
  await open(`/admin/users/${userId}`)
  await page.getByRole('button', { name: 'Ban' }).click()
  const dialog = page.getByRole('dialog', { name: `Ban ${email}?` })
  expect((await dialog.boundingBox())?.width).toBeLessThan(320)
  mayLog(logOf(429))
  await page.route('**/ban-user', (route) => route.fulfill({ status: 429, json: LIMITED }))
  await dialog.getByRole('button', { name: 'Ban' }).click()
  await dialog.getByText('Too many').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Ban' }).click()
  expect(await dialog.getByText('Too many').count()).toBe(0)
})

test('the audit trail has filters and pages', async () => {
  const { page, open, email } = await ada()
  await open('/admin/audit')
  await page.getByText('Records: 25+', { exact: true }).waitFor()
  const user = await room.signUp()
  // Live.
  await page.getByText(`${user.email} was created.`).waitFor()
  await page.getByRole('link', { name: 'Next page' }).click()
  await page.getByText(/^Records on this page: \d+$/).waitFor()
  // The link was at the end of the page.
  expect(await page.evaluate(() => [scrollY, document.activeElement?.id])).toEqual([0, 'main'])

  const today = new Date().toISOString().slice(0, 10)
  await page.getByLabel('Type').selectOption('user.created')
  await page.getByLabel('User').fill(email)
  await page.getByLabel('From (UTC)').fill(today)
  await page.getByLabel('To (UTC)').fill(today)
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('Records: 1', { exact: true }).waitFor()
  expect(await page.getByRole('table').getByText(`${email} was created.`).count()).toBe(1)
  // The URL has the filters, so the page can be shared and reloaded.
  expect(new URL(page.url()).searchParams.get('type')).toBe('user.created')
  expect(await open(page.url())).toContain(`${email} was created.`)
})

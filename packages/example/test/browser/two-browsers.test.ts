import { describe, expect, test } from 'vitest'
import { logOf, longTest, openControlRoom, PASSWORD } from './open-control-room.ts'
import { violationsOf } from './page-checks.ts'
import type { Visitor } from './visitor.ts'

const room = openControlRoom()

/** Two browsers of one user at the same page. */
async function openTwo(path: string): Promise<readonly [here: Visitor, elsewhere: Visitor]> {
  const here = await room.signUp()
  const elsewhere = await room.signIn(here.email, { userAgent: FIREFOX })
  // The token endpoint confirms the end of a session.
  elsewhere.mayLog(logOf(401))
  await Promise.all([here, elsewhere].map(({ open }) => open(path)))
  return [here, elsewhere]
}

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

test('notes appear and disappear in the other browser of the user, and only there', async () => {
  await room.createUser('A note of Ada')
  const [here, elsewhere] = await openTwo('/notes')
  await here.page.getByLabel('New note').fill('From here')
  await here.page.keyboard.press('Enter')
  const row = elsewhere.page.getByRole('listitem').filter({ hasText: 'From here' })
  await row.waitFor()
  await elsewhere.page.getByRole('status', { name: 'Your notes: 1' }).waitFor()
  await expect.poll(() => here.page.getByLabel('New note').inputValue()).toBe('')

  await row.getByRole('button', { name: 'Remove' }).click()
  await here.page.getByText('No notes yet.').waitFor()
  await row.waitFor({ state: 'detached' })
  expect(await here.page.getByText('A note of Ada').count()).toBe(0)
})

describe('sessions', () => {
  test('a new sign-in appears; after its revocation, that browser is signed out at once', async () => {
    const here = await room.signUp()
    await here.open('/sessions')
    expect(await here.page.getByRole('listitem').count()).toBe(1)

    const elsewhere = await room.openBrowser({ userAgent: FIREFOX })
    elsewhere.mayLog(logOf(401))
    await elsewhere.open('/notes')
    await elsewhere.page.getByLabel('Email').fill(here.email)
    await elsewhere.page.getByLabel('Password').fill(PASSWORD)
    await elsewhere.page.getByRole('button', { name: 'Sign in', exact: true }).click()
    const row = here.page.getByRole('listitem').filter({ hasText: 'Firefox' })
    await row.waitFor()
    await elsewhere.page.getByRole('heading', { name: 'Notes', exact: true }).waitFor()

    await row.getByRole('button', { name: /^Revoke Firefox .*Signed in just now/ }).click()
    const question = here.page.getByRole('alertdialog', { name: 'Revoke this session?' })
    expect(await violationsOf(here.page)).toEqual([])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    expect(await row.count()).toBe(1)
    await row.getByRole('button', { name: /^Revoke/ }).click()
    await question.getByRole('button', { name: 'Revoke session' }).click()
    await row.waitFor({ state: 'detached' })
    await elsewhere.page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    await elsewhere.page.getByText('Your session has ended').waitFor()
    expect(await here.page.getByRole('listitem').count()).toBe(1)
    expect(await elsewhere.titles()).toEqual(['Sign in', 'Notes', 'Sign in'])
    expect(await here.titles()).toEqual(['Sessions'])
  })

  test('all other sessions are revoked, after a confirmation', async () => {
    const [here, elsewhere] = await openTwo('/sessions')
    await here.page.getByRole('button', { name: 'Revoke all other sessions' }).click()
    const question = here.page.getByRole('alertdialog', { name: 'Revoke all other sessions?' })
    await question.getByRole('button', { name: 'Revoke sessions' }).click()
    await elsewhere.page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    await here.page.getByRole('status', { name: 'Your sessions: 1' }).waitFor()
  })

  test('"Sign out copies" stops copied cookies; all tabs of this browser continue', async () => {
    const here = await room.signUp()
    here.mayLog(logOf(403))
    here.mayLog(logOf(401))
    await here.open('/sessions')
    const tab = await here.openTab('/notes')
    const thief = await room.openBrowser()
    await thief.context.addCookies(await here.context.cookies())
    thief.mayLog(logOf(401))
    thief.mayLog(logOf(409))
    await thief.context.clock.install()
    await thief.open('/notes')
    await here.call('notes.add', { text: 'For both' })
    await thief.page.getByText('For both').waitFor()
    await room.db
      .updateTable('session')
      .set({ lastAuthenticatedAt: new Date(Date.now() - 16 * 60_000) })
      .where('id', '=', here.sessionId)
      .execute()

    await here.page.getByRole('button', { name: 'Sign out copies' }).click()
    await here.page.getByRole('alertdialog').getByRole('button', { name: 'Sign out' }).click()
    const dialog = here.page.getByRole('dialog', { name: 'Confirm your password' })
    await dialog.getByLabel('Password').fill(PASSWORD)
    await here.page.keyboard.press('Enter')
    await here.page.getByText('Copies of this session are signed out.').waitFor()
    // The thief's client retries for four seconds.
    await expect
      .poll(
        async () => {
          await thief.page.clock.runFor(500)
          return thief.page.getByRole('heading', { name: 'Sign in', exact: true }).isVisible()
        },
        { interval: 150, timeout: 30_000 },
      )
      .toBe(true)
    await thief.page.getByText('This session has new credentials.').waitFor()
    // The page shows it before the server responds to the sign-out.
    const cookieNames = async () => (await thief.context.cookies()).map(({ name }) => name)
    await expect.poll(cookieNames, { timeout: 30_000 }).not.toContain('service.session')

    await here.call('notes.add', { text: 'Mine alone' })
    await tab.getByText('Mine alone').waitFor()
    expect(await here.titles()).toEqual(['Sessions'])
    expect(await here.open('/notes')).toContain('Mine alone')
    expect(await thief.page.getByText('Mine alone').count()).toBe(0)
  })

  test('a new password ends all other sessions', async () => {
    const [here, elsewhere] = await openTwo('/account')
    await here.page.getByLabel('Current password').fill(PASSWORD)
    await here.page.getByLabel('New password').fill('another long password')
    await here.page.getByRole('button', { name: 'Change password' }).click()
    await here.page.getByText('Password changed. Your other browsers are signed out.').waitFor()
    await elsewhere.page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    expect(await here.titles()).toEqual(['Account'])
  })
})

describe('an admin', () => {
  const ada = room.share(() => room.signUp({ name: 'Ada', role: 'admin' }))

  /** Opens the page of a new user as an admin. The user has their notes open. */
  async function openUser(): Promise<{ admin: Visitor; user: Visitor }> {
    const [admin, user] = [await ada(), await room.signUp()]
    await user.open('/notes')
    await admin.open(`/admin/users/${user.userId}`)
    return { admin, user }
  }

  test('revokes a session after a confirmation: its browser is signed out at once', async () => {
    const { admin, user } = await openUser()
    user.mayLog(logOf(401))
    const { page } = admin
    await page.getByRole('list', { name: 'Ways to sign in' }).getByText('Password').waitFor()
    await page.getByRole('button', { name: /^Revoke .* last seen / }).click()
    const question = page.getByRole('alertdialog', { name: 'Revoke this session?' })
    await question.getByRole('button', { name: 'Cancel' }).click()
    expect(await user.page.getByText(user.email).count()).toBe(1)
    await page.getByRole('button', { name: /^Revoke .* last seen / }).click()
    await question.getByRole('button', { name: 'Revoke session' }).click()
    await user.page.getByText('Your session has ended').waitFor()
    await page.getByText("This user isn't signed in.").waitFor()
    expect(await user.titles()).toEqual(['Notes', 'Sign in'])

    await page.getByRole('link', { name: 'Audit trail of this user' }).click()
    await page
      .getByText(`A session of ${user.email} was ended by ${admin.email}: revoked by an admin.`)
      .waitFor()
  })

  longTest('revokes all sessions of a user after a confirmation', async () => {
    const { admin, user } = await openUser()
    user.mayLog(logOf(401))
    await room.signIn(user.email)
    await admin.page.getByRole('button', { name: 'Revoke all sessions' }).click()
    await admin.page.getByRole('alertdialog').getByRole('button', { name: 'Revoke sessions' }).click()
    await admin.page.getByText("This user isn't signed in.").waitFor()
    await user.page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
  })

  test('a ban replaces the page of the user, which returns soon after the ban is lifted', async () => {
    const { admin, user } = await openUser()
    user.mayLog(logOf(403))
    await admin.page.getByRole('button', { name: 'Ban' }).click()
    const dialog = admin.page.getByRole('dialog', { name: `Ban ${user.email}?` })
    expect(await violationsOf(admin.page)).toEqual([])
    await dialog.getByLabel('Reason').fill('Too many notes')
    await dialog.getByLabel('1 day').check()
    await dialog.getByRole('button', { name: 'Ban' }).click()

    const { page } = user
    await page.getByRole('heading', { name: 'Account banned' }).waitFor()
    expect(await violationsOf(page)).toEqual([])
    for (const name of ['Try again', 'Sign out'])
      expect(await page.getByRole('main').getByRole('button', { name }).isVisible()).toBe(true)
    await admin.page.getByText(/Banned until .*: Too many notes/).waitFor()
    // The session is kept.
    expect(await user.titles()).toEqual(['Notes', 'Account banned'])

    await admin.page.getByRole('button', { name: 'Lift ban' }).click()
    // Without a click or a reload.
    await page.getByLabel('New note').waitFor()
    await user.call('notes.add', { text: 'After the ban' })
    await page.getByText('After the ban').waitFor()
  })

  longTest('other users see why they cannot use the page, until an admin makes them one', async () => {
    const { admin, user } = await openUser()
    await user.open('/admin')
    const main = user.page.getByRole('main')
    await main.getByText('Admins only. Sign in with an admin account to view this page.').waitFor()
    expect(await main.getByRole('link', { name: 'Go to the home page' }).getAttribute('href')).toBe('/')
    expect(await main.getByRole('button', { name: 'Sign out' }).isVisible()).toBe(true)
    expect(await violationsOf(user.page)).toEqual([])
    await admin.page.getByRole('button', { name: 'Make an admin' }).click()
    await admin.page.getByRole('alertdialog').getByRole('button', { name: 'Change role' }).click()
    await user.page.getByRole('link', { name: admin.email }).waitFor()
  })
})

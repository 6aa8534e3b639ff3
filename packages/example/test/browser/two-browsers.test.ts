import type { Locator } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { logOf, openControlRoom, PASSWORD } from './open-control-room.ts'
import { violationsOf } from './page-checks.ts'
import type { Visitor } from './visitor.ts'

const room = openControlRoom()

/** Two browsers of one user at the same page. */
async function openTwo(path: string): Promise<readonly [here: Visitor, elsewhere: Visitor]> {
  const here = await room.signUp()
  const elsewhere = await room.signIn(here.email, { userAgent: FIREFOX })
  // The end of a session is told by the token endpoint as well.
  elsewhere.mayLog(logOf(401))
  await Promise.all([here, elsewhere].map(({ open }) => open(path)))
  return [here, elsewhere]
}

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

test('a note that is added or removed in one browser comes and goes in the other, and another user has no part in it', async () => {
  await room.createUser('A note of Ada')
  const [here, elsewhere] = await openTwo('/notes')
  await here.page.getByLabel('New note').fill('From here')
  await here.page.keyboard.press('Enter')
  const row = elsewhere.page.getByRole('listitem').filter({ hasText: 'From here' })
  await row.waitFor()
  await elsewhere.page.getByRole('status', { name: 'Your notes: 1' }).waitFor()
  await expect.poll(() => here.page.getByLabel('New note').inputValue()).toBe('')

  await row.getByRole('button', { name: 'Remove' }).click()
  await here.page.getByText('None yet').waitFor()
  await row.waitFor({ state: 'detached' })
  expect(await here.page.getByText('A note of Ada').count()).toBe(0)
})

describe('sessions', () => {
  test('a new sign-in appears by itself; revoked, it disappears, and its browser is signed out at once', async () => {
    const here = await room.signUp()
    await here.open('/sessions')
    expect(await here.page.getByRole('listitem').count()).toBe(1)

    const elsewhere = await room.openBrowser({ userAgent: FIREFOX })
    elsewhere.mayLog(logOf(401))
    await elsewhere.open('/notes')
    await elsewhere.page.getByLabel('Email').fill(here.email)
    await elsewhere.page.getByLabel('Password').fill(PASSWORD)
    await elsewhere.page.getByRole('button', { name: 'Sign in' }).click()
    const row = here.page.getByRole('listitem').filter({ hasText: 'Firefox' })
    await row.waitFor()
    await elsewhere.page.getByRole('heading', { name: 'Notes', exact: true }).waitFor()

    // Another row may be of the same browser.
    await row.getByRole('button', { name: /^Revoke Firefox .*Signed in.*\d:\d\d:\d\d/ }).click()
    await row.waitFor({ state: 'detached' })
    await elsewhere.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await elsewhere.page.getByText('This session was ended').waitFor()
    expect(await here.page.getByRole('listitem').count()).toBe(1)
    expect(await elsewhere.titles()).toEqual(['Sign in', 'Notes', 'Sign in'])
    expect(await here.titles()).toEqual(['Sessions'])
  })

  test('all others end with "Sign out everywhere else"', async () => {
    const [here, elsewhere] = await openTwo('/sessions')
    await here.page.getByRole('button', { name: 'Sign out everywhere else' }).click()
    await elsewhere.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await here.page.getByRole('status', { name: 'Your sessions: 1' }).waitFor()
  })

  test('copies of the cookies stop working with "Sign out copies", and all tabs of this browser go on', async () => {
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
    const dialog = here.page.getByRole('dialog', { name: 'Is it still you?' })
    await dialog.getByLabel('Password').fill(PASSWORD)
    await here.page.keyboard.press('Enter')
    await here.page.getByText('Only this browser is still signed in to this session.').waitFor()
    // The client of the thief tries again for four seconds.
    await expect
      .poll(
        async () => {
          await thief.page.clock.runFor(500)
          return thief.page.getByRole('heading', { name: 'Sign in' }).isVisible()
        },
        { interval: 150, timeout: 10_000 },
      )
      .toBe(true)
    await thief.page.getByText('This session has new credentials.').waitFor()
    // The page shows it before the server has answered the sign-out.
    const cookieNames = async () => (await thief.context.cookies()).map(({ name }) => name)
    await expect.poll(cookieNames, { timeout: 10_000 }).not.toContain('service.session')

    await here.call('notes.add', { text: 'Mine alone' })
    await tab.getByText('Mine alone').waitFor()
    expect(await here.titles()).toEqual(['Sessions'])
    expect(await here.open('/notes')).toContain('Mine alone')
    expect(await thief.page.getByText('Mine alone').count()).toBe(0)
  })

  test('all others end with a new password', async () => {
    const [here, elsewhere] = await openTwo('/account')
    await here.page.getByLabel('Current password').fill(PASSWORD)
    await here.page.getByLabel('New password').fill('another long password')
    await here.page.getByRole('button', { name: 'Change password' }).click()
    await here.page.getByText('Changed. You are signed in here alone.').waitFor()
    await elsewhere.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await here.titles()).toEqual(['Account'])
  })
})

describe('an admin', () => {
  const ada = room.share(async () => {
    const visitor = await room.signUp({ name: 'Ada', role: 'admin' })
    await visitor.open('/admin')
    return visitor
  })

  /** At their page, beside a user who has signed up meanwhile. */
  async function openAdmin(): Promise<{ admin: Visitor; user: Visitor; row: Locator; records: Locator }> {
    const admin = await ada()
    const user = await room.signUp()
    await user.open('/notes')
    const rows = (name: string) => admin.page.getByRole('region', { name, exact: true }).getByRole('listitem')
    const row = rows('Users').filter({ hasText: user.email })
    await row.waitFor()
    return { admin, user, row, records: rows('Audit trail').filter({ hasText: user.email }) }
  }

  test('revokes a session: its browser is signed out at once, and the audit trail tells of it live', async () => {
    const { admin, user, row, records } = await openAdmin()
    user.mayLog(logOf(401))
    await records.getByText(`${user.email} was created.`).waitFor()
    await row.getByRole('button', { name: `Sessions of ${user.email}` }).click()
    await row.getByRole('button', { name: /^Revoke .* last seen .*\d:\d\d:\d\d/ }).click()
    await user.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await user.page.getByText('This session was ended').waitFor()
    await row.getByText('Signed in nowhere.').waitFor()
    await records
      .getByText(`A session of ${user.email} ended by ${admin.email}: revoked by an admin.`)
      .waitFor()
    expect(await user.titles()).toEqual(['Notes', 'Sign in'])
  })

  test('bans a user: the page says "Account banned" and nothing else, and comes back when the ban is lifted', async () => {
    const { admin, user, row, records } = await openAdmin()
    user.mayLog(logOf(403))
    await row.getByRole('button', { name: `Ban ${user.email}` }).click()
    const dialog = admin.page.getByRole('dialog', { name: `Ban ${user.email}?` })
    expect(await violationsOf(admin.page)).toEqual([])
    await dialog.getByLabel('Reason').fill('Too many notes')
    await dialog.getByLabel('1 day').check()
    await dialog.getByRole('button', { name: 'Ban' }).click()

    await user.page.getByRole('heading', { name: 'This account is banned' }).waitFor()
    expect(await user.page.getByRole('main').textContent()).toBe(
      'Account bannedTry againSign outThis account is bannedNotes and finished reports are kept. What was being written or sent has stopped.',
    )
    await row.getByText(/Banned until .*: Too many notes/).waitFor()
    await records.getByText('Too many notes').waitFor()
    // Nobody is signed out: the session is there for when the ban ends.
    expect(await user.titles()).toEqual(['Notes', 'This account is banned'])

    await row.getByRole('button', { name: `Lift the ban of ${user.email}` }).click()
    await row.getByText('Banned').first().waitFor({ state: 'detached' })
    await user.page.getByRole('button', { name: 'Try again' }).click()
    await user.page.getByLabel('New note').waitFor()
    expect(await user.page.getByText('Account banned').count()).toBe(0)
    // Live as before.
    await user.call('notes.add', { text: 'After the ban' })
    await user.page.getByText('After the ban').waitFor()
  })

  test('has banned a user: whoever loads a page can sign out, for another to sign in', async () => {
    const { page, open, mayLog, userId, titles } = await room.signUp()
    mayLog(logOf(403))
    await room.db.updateTable('user').set({ banned: true }).where('id', '=', userId).execute()
    await open('/notes')
    await page.getByRole('heading', { name: 'This account is banned' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Email').waitFor()
    expect(await page.getByText('Account banned').count()).toBe(0)
    expect((await titles()).slice(-3)).toEqual(['This account is banned', 'Signing out …', 'Sign in'])
  })

  test('who signed in long ago is asked for the password, to read the audit trail and to ban', async () => {
    const admin = await room.signUp({ role: 'admin' })
    const user = await room.signUp()
    admin.mayLog(logOf(403))
    const age = () =>
      room.db
        .updateTable('session')
        .set({ lastAuthenticatedAt: new Date(Date.now() - 16 * 60_000) })
        .where('userId', '=', admin.userId)
        .execute()
    const { page } = admin
    const question = page.getByRole('dialog', { name: 'Is it still you?' })
    const confirm = async () => {
      await question.getByLabel('Password').fill(PASSWORD)
      await question.getByRole('button', { name: 'Confirm' }).click()
      await question.waitFor({ state: 'detached' })
    }
    await age()
    await admin.open('/admin')
    await page.getByText('Confirm that it is you to read it.').waitFor()
    expect(await question.count()).toBe(0)
    await page.getByRole('button', { name: 'Show the audit trail' }).click()
    await confirm()
    await page.getByText(`${user.email} was created.`).waitFor()

    await age()
    const row = page.getByRole('listitem').filter({ hasText: user.email }).first()
    await row.getByRole('button', { name: `Ban ${user.email}` }).click()
    const dialog = page.getByRole('dialog', { name: `Ban ${user.email}?` })
    await dialog.getByRole('button', { name: 'Ban' }).click()
    await confirm()
    await row.getByText(/Banned until/).waitFor()

    await age()
    await row.getByRole('button', { name: `Lift the ban of ${user.email}` }).click()
    // A user without a password proves it by signing in again.
    await question.getByRole('button', { name: 'Sign in again' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  test('makes a user an admin, who sees it at once; no other user sees the page', async () => {
    const { admin, user, row } = await openAdmin()
    await user.open('/admin')
    await user.page.getByRole('heading', { name: 'For admins' }).waitFor()
    expect(await user.page.getByText(admin.email).count()).toBe(0)
    await row.getByRole('button', { name: /^Make/ }).click()
    await admin.page.getByRole('alertdialog').getByRole('button', { name: 'Change role' }).click()
    await user.page.getByRole('link', { name: 'Admin' }).waitFor()
    await user.page.getByRole('listitem').filter({ hasText: admin.email }).first().waitFor()
  })
})

import { describe, expect, test } from 'vitest'
import { logOf, openControlRoom, PASSWORD } from './open-control-room.ts'
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

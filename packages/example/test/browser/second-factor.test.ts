import { TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { logOf, openControlRoom, PASSWORD } from './open-control-room.ts'
import { violationsOf } from './page-checks.ts'

const room = openControlRoom()

/**
 * Returns the code of the step that is `steps` from now. The server accepts the previous, current, and next
 * step, and each code once.
 */
const codeOf = (secret: string, steps: number) =>
  new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 })

const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

const enterCode = (page: Page, code: string) => page.getByLabel('Code', { exact: true }).fill(code)

/** Sets up an app on the Account page. Returns its secret, and the recovery codes. */
async function setUpApp(page: Page): Promise<{ secret: string; recoveryCodes: readonly string[] }> {
  await click(page, 'Set up an app')
  await page.getByAltText('QR code for your app').waitFor()
  expect(await violationsOf(page)).toEqual([])
  const secret = (await page.locator('.totp-secret').textContent()) ?? ''
  await enterCode(page, codeOf(secret, 0))
  await click(page, 'Confirm')
  return { secret, recoveryCodes: await takeRecoveryCodes(page) }
}

async function takeRecoveryCodes(page: Page): Promise<readonly string[]> {
  const codes = page.locator('.recovery-codes li')
  await codes.first().waitFor()
  const texts = await codes.allTextContents()
  await click(page, 'I have saved them')
  await page.getByText('Recovery codes left: 10').waitFor()
  return texts
}

/** Signs out, and sends the password. */
async function signInAgain(page: Page, email: string) {
  await click(page, 'Sign out')
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await click(page, 'Sign in')
}

test('a user sets up an app, signs in with a code, and confirms an action with one', async () => {
  const { page, open, email, mayLog } = await room.signUp()
  await open('/account')
  const { secret, recoveryCodes } = await setUpApp(page)
  expect(recoveryCodes).toHaveLength(10)

  for (const status of [400, 401, 403]) mayLog(logOf(status))
  await signInAgain(page, email)
  await enterCode(page, '000000')
  await click(page, 'Confirm')
  await page.getByRole('alert').getByText('This code is wrong').waitFor()
  await enterCode(page, codeOf(secret, 1))
  await click(page, 'Confirm')
  await page.getByRole('banner').getByText(email).waitFor()

  const aMinuteAgo = JSON.stringify({ pwd: 1, otp: Math.floor(Date.now() / 1000) - 61 })
  await room.db.updateTable('session').set({ amr: aMinuteAgo }).where('amr', 'like', '%otp%').execute()
  await open('/account')
  await page.getByRole('button', { name: 'New API key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Confirm with a code').waitFor()
  await dialog.getByLabel('Code', { exact: true }).fill(recoveryCodes[0] ?? '')
  await dialog.getByRole('button', { name: 'Confirm', exact: true }).click()
  await page.getByText("Copy this key now. You can't see it again.").waitFor()
})

test('a user signs in with a recovery code, trusts the browser, gets new codes, and removes the app', async () => {
  const { page, open, email, mayLog } = await room.signUp()
  const banner = page.getByRole('banner').getByText(email)
  await open('/account')
  const { recoveryCodes } = await setUpApp(page)
  const [first = '', second = ''] = recoveryCodes
  await room.printed(new RegExp(`Email to ${email} \\(totp-enabled\\)`))

  for (const status of [400, 401, 403]) mayLog(logOf(status))
  await signInAgain(page, email)
  await enterCode(page, first)
  await page.getByLabel('Trust this browser for 30 days').check()
  await click(page, 'Confirm')
  await banner.waitFor()
  await signInAgain(page, email)
  await banner.waitFor()

  await open('/account')
  await page.getByText('Recovery codes left: 9').waitFor()
  await click(page, 'New recovery codes')
  await enterCode(page, second)
  await click(page, 'Create recovery codes')
  const [replaced = ''] = await takeRecoveryCodes(page)
  await click(page, 'Remove the app')
  await enterCode(page, first)
  await click(page, 'Remove the app')
  await page.getByRole('alert').getByText('This code is wrong').waitFor()
  await enterCode(page, replaced)
  await click(page, 'Remove the app')
  await page.getByRole('button', { name: 'Set up an app' }).waitFor()
})

test('an admin resets the second factor of a user, who then signs in with the password alone', async () => {
  const user = await room.signUp()
  await user.open('/account')
  await setUpApp(user.page)
  user.mayLog(logOf(401))
  const { page, open, email } = await room.signUp({ role: 'admin' })
  await open(`/admin/users/${user.userId}`)
  await page.getByRole('list', { name: 'Ways to sign in' }).getByText('Authenticator app').waitFor()
  await click(page, 'Reset factors')
  const dialog = page.getByRole('dialog', { name: `Remove the second factors of ${user.email}?` })
  expect(await violationsOf(page)).toEqual([])
  await dialog.getByLabel('Reason').fill('Lost phone, saw the passport')
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await dialog.waitFor({ state: 'detached' })
  await user.page.getByText('Your session has ended').waitFor()
  await room.printed(new RegExp(`Email to ${user.email} \\(totp-disabled\\)`))
  const reason = 'Lost phone, saw the passport.'
  await page.getByRole('link', { name: 'Audit trail of this user' }).click()
  await page.getByText(`The second factors of ${user.email} were removed by ${email}: ${reason}`).waitFor()

  await user.page.getByLabel('Email').fill(user.email)
  await user.page.getByLabel('Password').fill(PASSWORD)
  await click(user.page, 'Sign in')
  await user.page.getByRole('banner').getByText(user.email).waitFor()
})

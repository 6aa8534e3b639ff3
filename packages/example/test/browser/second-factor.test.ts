import { TOTP } from 'otpauth'
import { expect, test } from 'vitest'
import { logOf, openControlRoom, PASSWORD } from './open-control-room.ts'
import { violationsOf } from './page-checks.ts'

const room = openControlRoom()

/** Returns a code for a step from now: each is accepted once, and the next one already. */
const codeOf = (secret: string, steps: number) =>
  new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 })

test('a user sets up an app, signs in with a code, and confirms an action with one', async () => {
  const { page, open, email, mayLog } = await room.signUp()
  await open('/account')
  await page.getByRole('button', { name: 'Set up an app' }).click()
  await page.getByAltText('QR code for your app').waitFor()
  expect(await violationsOf(page)).toEqual([])
  const secret = (await page.locator('.totp-secret').textContent()) ?? ''
  await page.getByLabel('Code', { exact: true }).fill(codeOf(secret, -1))
  await page.getByRole('button', { name: 'Confirm' }).click()
  const codes = page.locator('.recovery-codes li')
  await codes.first().waitFor()
  expect(await codes.count()).toBe(10)
  const recoveryCode = (await codes.first().textContent()) ?? ''
  await page.getByRole('button', { name: 'I have saved them' }).click()
  await page.getByText('Recovery codes left: 10').waitFor()

  mayLog(logOf(401))
  await page.getByRole('button', { name: 'Sign out' }).click()
  await open('/sign-in')
  mayLog(logOf(403))
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  mayLog(logOf(400))
  await page.getByLabel('Code', { exact: true }).fill('000000')
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.getByRole('alert').getByText('This code is wrong').waitFor()
  await page.getByLabel('Code', { exact: true }).fill(codeOf(secret, 0))
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.getByRole('banner').getByText(email).waitFor()

  const aMinuteAgo = JSON.stringify({ pwd: 1, otp: Math.floor(Date.now() / 1000) - 61 })
  await room.db.updateTable('session').set({ amr: aMinuteAgo }).where('amr', 'like', '%otp%').execute()
  await open('/account')
  await page.getByRole('button', { name: 'New API key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Confirm with a code').waitFor()
  await dialog.getByLabel('Code', { exact: true }).fill(recoveryCode)
  await dialog.getByRole('button', { name: 'Confirm', exact: true }).click()
  await page.getByText("Copy this key now. You can't see it again.").waitFor()
})

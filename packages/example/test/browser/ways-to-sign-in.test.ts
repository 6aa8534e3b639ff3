import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { logOf, openControlRoom, PASSWORD } from './open-control-room.ts'
import { violationsOf } from './page-checks.ts'

const room = openControlRoom()

const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** Signs in as a person of the demo provider. */
async function signInWithProvider(page: Page, person: 'Alan' | 'Barbara') {
  await click(page, 'Sign in with the demo provider')
  await page.getByRole('button', { name: `Continue as ${person}` }).click()
}

/** Plugs in a device that confirms at once. */
async function plugInAuthenticator(page: Page) {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

async function addPasskey(page: Page, name: string) {
  await page.getByLabel('Name of a new passkey').fill(name)
  await click(page, 'Add a passkey')
  await page.getByLabel('Passkey', { exact: true }).waitFor()
}

test('a person of the demo provider adds a passkey, unlinks the provider, and signs in with the passkey', async () => {
  const { page, open, mayLog } = await room.openBrowser()
  page.on(
    'response',
    async (r) =>
      r.status() === 400 &&
  )
  await open('/account')
  await click(page, 'Sign in with the demo provider')
  await page.getByText('This provider is only for development').waitFor()
  expect(await violationsOf(page)).toEqual([])
  await page.getByRole('button', { name: 'Continue as Alan' }).click()
  await page.getByRole('banner').getByText('alan@example.com').waitFor()
  expect(new URL(page.url()).pathname).toBe('/account')

  mayLog(logOf(409))
  await click(page, 'Unlink')
  await page.getByRole('alert').getByText('This is your last way to sign in').waitFor()

  mayLog(logOf(401))
  await click(page, 'Sign out')
  await open('/sign-in?next=/account')
  await signInWithProvider(page, 'Alan')
  await page.getByRole('banner').getByText('alan@example.com').waitFor()

  await plugInAuthenticator(page)
  await addPasskey(page, 'Laptop')
  expect(await violationsOf(page)).toEqual([])
  await page.getByLabel('Passkey', { exact: true }).fill('Old laptop')
  await click(page, 'Rename')
  await click(page, 'Unlink')
  await page.getByRole('button', { name: 'Link the demo provider' }).waitFor()

  await click(page, 'Sign out')
  await open('/sign-in?next=/account')
  await click(page, 'Sign in with a passkey')
  await page.getByRole('banner').getByText('alan@example.com').waitFor()
  expect(await page.getByLabel('Passkey', { exact: true }).inputValue()).toBe('Old laptop')
  await click(page, 'Remove')
  await page.getByRole('alert').getByText('Set a password first').waitFor()
})

test('a user with a password links the provider, and a passkey completes both sign-ins', async () => {
  const { page, open, email, userId, mayLog } = await room.signUp()
  await open('/account')
  await click(page, 'Link the demo provider')
  await page.getByRole('button', { name: 'Continue as Barbara' }).click()
  await page.getByRole('alert').getByText('Confirm your email first').waitFor()
  await room.db.updateTable('user').set({ emailVerified: true }).where('id', '=', userId).execute()
  await click(page, 'Link the demo provider')
  await page.getByRole('button', { name: 'Continue as Barbara' }).click()
  await page.getByRole('button', { name: 'Unlink' }).waitFor()
  await plugInAuthenticator(page)
  await addPasskey(page, 'Laptop')

  mayLog(logOf(401))
  await click(page, 'Sign out')
  await open('/sign-in?next=/account')
  await signInWithProvider(page, 'Barbara')
  await page.getByRole('button', { name: 'Confirm with a passkey' }).waitFor()
  expect(page.url()).not.toMatch(/challenge|error/)
  await click(page, 'Confirm with a passkey')
  await page.getByRole('banner').getByText(email).waitFor()

  await click(page, 'Sign out')
  await open('/sign-in')
  mayLog(logOf(403))
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await click(page, 'Sign in')
  await click(page, 'Confirm with a passkey')
  await page.getByRole('banner').getByText(email).waitFor()
})

// passkeys() with the virtual authenticators of Chromium.
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import type { CDPSession, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser } from './open-browser.ts'
import { servePage } from './serve-page.ts'

type PasskeysPage = typeof import('./pages/passkeys-page.ts')

const browser = openBrowser()
const entry = new URL('./pages/passkeys-page.ts', import.meta.url)

const ofLaptop = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const
const ofSecurityKey = { ...ofLaptop, transport: 'usb' } as const

type Options = typeof ofLaptop | typeof ofSecurityKey
type Credential = Awaited<ReturnType<typeof credentialsOf>>['credentials'][number]

const credentialsOf = (devtools: CDPSession, authenticatorId: string) =>
  devtools.send('WebAuthn.getCredentials', { authenticatorId })

/** Plugs authenticators into the browser. */
async function authenticatorsOf(page: Page) {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  return {
    async plugIn(options: Options, credentials: readonly Credential[] = []): Promise<string> {
      const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', { options })
      for (const credential of credentials)
        await devtools.send('WebAuthn.addCredential', { authenticatorId, credential })
      return authenticatorId
    },
    /** Returns its passkeys. */
    async unplug(authenticatorId: string): Promise<readonly Credential[]> {
      const { credentials } = await credentialsOf(devtools, authenticatorId)
      await devtools.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
      return credentials
    },
    async forgetUser(authenticatorId: string): Promise<void> {
      await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
    },
  }
}

async function openPage() {
  const site = await servePage({ entry, auth: { plugins: [passkeys({ requiredAtSignIn: true })] } })
  const tab = await (await browser.openProfile(site)).openTab<PasskeysPage>()
  const { email, userId } = await site.auth.createUser()
  expect(await tab.run('signIn', email, TEST_PASSWORD)).toBe(userId)
  return { site, tab, email, userId, authenticators: await authenticatorsOf(tab.page) }
}

test('a user adds passkeys of two devices, and signs in with either, without a username', async () => {
  const { site, tab, userId, authenticators } = await openPage()
  await using _ = site
  const laptop = await authenticators.plugIn(ofLaptop)
  expect(await tab.run('addPasskey', 'Laptop')).toBe(userId)
  const ofAda = await authenticators.unplug(laptop)
  site.auth.clock.advance(1)
  const key = await authenticators.plugIn(ofSecurityKey)
  expect(await tab.run('addPasskey', 'Security key')).toBe(userId)
  expect(await tab.run('read')).toEqual({ names: ['Security key', 'Laptop'], methods: ['pwd', 'passkey'] })

  await tab.run('signOut')
  expect(await tab.run('signInPasskey')).toBe(userId)
  expect((await tab.run('read')).methods).toEqual(['passkey'])
  await authenticators.unplug(key)
  await tab.run('signOut')
  await authenticators.plugIn(ofLaptop, ofAda)
  expect(await tab.run('signInPasskey')).toBe(userId)
})

test('a passkey that a field offers signs in', async () => {
  const { site, tab, userId, authenticators } = await openPage()
  await using _ = site
  await authenticators.plugIn(ofLaptop)
  await tab.run('addPasskey', 'Laptop')
  await tab.run('signOut')
  expect(await tab.run('signInFromField')).toBe(userId)
})

test('a passkey completes a sign-in by password, and re-authenticates', async () => {
  const { site, tab, email, userId, authenticators } = await openPage()
  await using _ = site
  await authenticators.plugIn(ofLaptop)
  await tab.run('addPasskey', 'Laptop')
  await tab.run('signOut')
  expect(await tab.run('signIn', email, TEST_PASSWORD)).toBe('FACTOR_REQUIRED')
  expect(await tab.run('completeSignIn', email, TEST_PASSWORD)).toBe(userId)
  expect((await tab.run('read')).methods).toEqual(['pwd', 'passkey'])
  expect(await tab.run('reauthenticate')).toBe(userId)
})

test('a device that does not recognize its user is rejected', async () => {
  const { site, tab, authenticators } = await openPage()
  await using _ = site
  const laptop = await authenticators.plugIn(ofLaptop)
  await tab.run('addPasskey', 'Laptop')
  await authenticators.forgetUser(laptop)
  await expect(tab.run('reauthenticate')).rejects.toThrow('NotAllowedError')
})

test('a copy of a device whose counter is behind is rejected', async () => {
  const { site, tab, userId, authenticators } = await openPage()
  await using _ = site
  const laptop = await authenticators.plugIn(ofLaptop)
  await tab.run('addPasskey', 'Laptop')
  expect(await tab.run('signInPasskey')).toBe(userId)
  expect(await tab.run('signInPasskey')).toBe(userId)
  const copy = (await authenticators.unplug(laptop)).map((passkey) => ({ ...passkey, signCount: 0 }))
  await authenticators.plugIn(ofLaptop, copy)
  expect(await tab.run('signInPasskey')).toBe('PASSKEY_INVALID')
})

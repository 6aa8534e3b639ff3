// openPopup in a real browser, with a provider on another site.
import { oauth } from '@sallyport/core/plugins/oauth'
import { totp } from '@sallyport/core/plugins/totp'
import { expect, test } from 'vitest'
import { startLocalProvider } from '../../../core/test/plugins/oauth/local-provider.ts'
import { CLIENT } from '../../../core/test/plugins/oauth/oidc-server.ts'
import { totpCode } from '../../../core/test/support/totp-code.ts'
import { openBrowser } from './open-browser.ts'
import { servePage } from './serve-page.ts'

type PopupPage = typeof import('./pages/popup-page.ts')

const browser = openBrowser()
const provider = await startLocalProvider()
const plugins = [
  oauth({ providers: { acme: { ...CLIENT, issuer: provider.issuer } } }),
  totp({ issuer: 'Test' }),
]

async function openPage() {
  const entry = new URL('./pages/popup-page.ts', import.meta.url)
  const site = await servePage({ entry, auth: { plugins } })
  const profile = await browser.openProfile(site)
  const tab = await profile.openTab<PopupPage>()
  const email = `${crypto.randomUUID()}@example.com`
  provider.person = { sub: crypto.randomUUID(), email, email_verified: true }
  const userIdOf = async (address: string) => {
    const users = site.auth.db.selectFrom('user').select('id').where('email', '=', address)
    return (await users.executeTakeFirst())?.id
  }
  return { site, tab, profile, email, userIdOf, popups: () => profile.context.pages().length - 1 }
}

test('signs in while the page stays, and closes the pop-up', async () => {
  const { site, tab, email, userIdOf, popups } = await openPage()
  await using _ = site
  const userId = await tab.run('visit', 'signInOauth')
  expect(userId).toBe(await userIdOf(email))
  expect(await tab.run('getState')).toMatchObject({ status: 'authenticated', userId })
  await expect.poll(popups).toBe(0)
})

test('signs another user in, and another tab follows', async () => {
  const { site, tab, profile, userIdOf } = await openPage()
  await using _ = site
  const former = await tab.run('visit', 'signInOauth')
  const other = await profile.openTab<PopupPage>()
  expect(await other.run('visit', 'reauthenticateOauth')).toMatchObject({
    code: 'REAUTHENTICATION_UNSUPPORTED',
  })
  const email = `${crypto.randomUUID()}@example.com`
  provider.person = { sub: crypto.randomUUID(), email, email_verified: true }
  await other.run('follow')
  const userId = await tab.run('visit', 'signInOauth')
  expect(userId).not.toBe(former)
  expect(userId).toBe(await userIdOf(email))
  await expect.poll(() => other.run('getState')).toMatchObject({ userId })
})

test('re-authenticates the session', async () => {
  const { site, tab } = await openPage()
  await using _ = site
  const userId = await tab.run('visit', 'signInOauth')
  site.auth.clock.advance(3_600)
  provider.alter = (claims) => ({ ...claims, auth_time: Math.floor(site.auth.clock.now().getTime() / 1000) })
  expect(await tab.run('visit', 'reauthenticateOauth')).toBe(userId)
  provider.alter = (claims) => claims
  const { lastAuthenticatedAt } = await site.auth.db
    .selectFrom('session')
    .select('lastAuthenticatedAt')
    .executeTakeFirstOrThrow()
  expect(new Date(lastAuthenticatedAt ?? 0)).toEqual(site.auth.clock.now())
})

test('throws the code of the server', async () => {
  const { site, tab, email, popups } = await openPage()
  await using _ = site
  provider.person = { sub: crypto.randomUUID(), email, email_verified: false }
  expect(await tab.run('visit', 'signInOauth')).toEqual({
    code: 'PROVIDER_EMAIL_UNVERIFIED',
    challenge: null,
  })
  expect(await tab.run('visit', 'linkAccount')).toMatchObject({ code: 'SESSION_NOT_FOUND' })
  await expect.poll(popups).toBe(0)
})

test('throws the challenge, which a second factor completes', async () => {
  const { site, tab } = await openPage()
  await using _ = site
  const userId = (await tab.run('visit', 'signInOauth')) as string
  const secret = await tab.run('enableTotp')
  await tab.run('confirmTotp', totpCode(secret, site.auth))
  await tab.run('signOut')
  site.auth.clock.advance(30)
  const failure = await tab.run('visit', 'signInOauth')
  expect(failure).toEqual({
    code: 'FACTOR_REQUIRED',
    challenge: { token: expect.any(String), methods: ['otp', 'recovery'], expiresIn: expect.any(Number) },
  })
  const { challenge } = failure as Exclude<typeof failure, string | null>
  await tab.run('sendCode', challenge?.token ?? '', totpCode(secret, site.auth))
  expect(await tab.run('getState')).toMatchObject({ status: 'authenticated', userId })
})

test('is canceled when the user closes the pop-up, whose page has no access to its opener', async () => {
  const { site, tab, profile } = await openPage()
  await using _ = site
  await profile.context.route(`${provider.issuer}/**`, (route) => route.fulfill({ body: 'Sign in' }))
  const opened = profile.context.waitForEvent('page')
  const visit = tab.run('visit', 'signInOauth')
  const popup = await opened
  await popup.waitForURL(`${provider.issuer}/**`)
  expect(await popup.evaluate('opener')).toBeNull()
  await popup.close()
  expect(await visit).toMatchObject({ code: 'SIGN_IN_CANCELED' })
})

test('notices a sign-in of a pop-up that was closed too early', async () => {
  const { site, tab, profile, email, userIdOf } = await openPage()
  await using _ = site
  // The user closes it between the last two responses.
  const last = site.hold('/popup.html')
  const opened = profile.context.waitForEvent('page')
  const visit = tab.run('visit', 'signInOauth')
  const popup = await opened
  await expect.poll(() => last.waiting).toBe(1)
  await popup.close()
  last.release()
  expect(await visit).toMatchObject({ code: 'SIGN_IN_CANCELED' })
  expect(await tab.run('getState')).toMatchObject({ userId: await userIdOf(email) })
})

test('names a blocked pop-up, and a page of another origin, before it calls the server', async () => {
  const { site, tab } = await openPage()
  await using _ = site
  expect(await tab.run('visit', 'signInOauth', 'https://evil.example')).toMatchObject({
    code: 'REDIRECT_REJECTED',
  })
  await tab.run('blockPopups')
  expect(await tab.run('visit', 'signInOauth')).toMatchObject({ code: 'POPUP_BLOCKED' })
  expect(site.count('/api/auth/sign-in/oauth')).toBe(0)
})

test('trusts no text in the URL', async () => {
  const { site, tab, profile } = await openPage()
  await using _ = site
  await profile.context.route(`${provider.issuer}/**`, (route) =>
    route.fulfill({ status: 302, headers: { location: `${site.origin}/popup.html?error=Call+0900+now` } }),
  )
  expect(await tab.run('visit', 'signInOauth')).toEqual({ code: 'UNKNOWN', challenge: null })
})

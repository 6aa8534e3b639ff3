import { beforeEach, describe, expect, test } from 'vitest'
import { ACME, type Browser, createOauthAuth, newPerson } from './browser.ts'
import { startLocalProvider } from './local-provider.ts'
import { CLIENT, startOidcServer } from './oidc-server.ts'

const acme = await startOidcServer()
const lax = await startLocalProvider()
const { auth, open } = await createOauthAuth({
  providers: {
    acme: { ...CLIENT, issuer: acme.issuer },
    lax: { ...CLIENT, issuer: lax.issuer },
    plain: {
      ...CLIENT,
      authorizationEndpoint: `${lax.issuer}/authorize`,
      tokenEndpoint: `${lax.issuer}/token`,
      userInfoEndpoint: `${lax.issuer}/me`,
    },
  },
})

let ada: ReturnType<typeof newPerson>
let browser: Browser
beforeEach(async () => {
  ada = newPerson()
  acme.person = ada
  browser = open()
  await browser.go('signInOauth')
})

const at = (provider: string) => ({ ...ACME, provider })

describe('confirming at the provider that it is the user', () => {
  test('asks for a new sign-in, makes the session fresh, and replaces its credentials', async () => {
    auth.clock.advance(14 * 60)
    await browser.call('token')
    auth.clock.advance(120)
    await browser.call('token')
    expect((await browser.call('linkAccount', ACME)).status).toBe('403 SESSION_NOT_FRESH')
    const copy = open()
    copy.cookie = browser.cookie
    auth.clock.advance(-16 * 60)
    const { body } = await browser.call('reauthenticateOauth', ACME)
    const query = new URL(body.url).searchParams
    expect([query.get('prompt'), query.get('max_age')]).toEqual(['login', '0'])
    expect((await browser.open(await browser.visit(body.url))).page).toBe('/home')
    expect((await copy.call('getSession')).status).toBe('401 TOKEN_INVALID')
    expect((await browser.call('linkAccount', ACME)).status).toBe('200')
  })

  test('is rejected for another account of the provider', async () => {
    const other = open()
    lax.person = newPerson()
    lax.alter = (claims) => ({ ...claims, auth_time: Math.floor(Date.now() / 1000) })
    await other.go('signInOauth', at('lax'))
    lax.person = newPerson()
    const { page } = await other.go('reauthenticateOauth', at('lax'))
    expect(page).toBe('/sign-in?error=ACCOUNT_MISMATCH')
  })

  test.each([
    ['returns an old sign-in', () => Math.floor(Date.now() / 1000) - 60],
    ['does not say when the user signed in', () => undefined],
  ])('is rejected at a provider that %s', async (_name, authTime) => {
    const other = open()
    lax.person = newPerson()
    lax.alter = (claims) => ({ ...claims, auth_time: authTime() })
    await other.go('signInOauth', at('lax'))
    expect((await other.go('reauthenticateOauth', at('lax'))).page).toBe(
      '/sign-in?error=REAUTHENTICATION_UNSUPPORTED',
    )
    lax.alter = (claims) => ({ ...claims, auth_time: Math.floor(Date.now() / 1000) })
    expect((await other.go('reauthenticateOauth', at('lax'))).page).toBe('/home')
  })

  test('is rejected at an OAuth 2 provider, which cannot prove it', async () => {
    expect((await browser.call('reauthenticateOauth', at('plain'))).status).toBe(
      '400 REAUTHENTICATION_UNSUPPORTED',
    )
  })

  test('is rejected at a provider that the user has not linked', async () => {
    expect((await browser.call('reauthenticateOauth', at('lax'))).status).toBe('404 ACCOUNT_NOT_FOUND')
  })

  test('does not sign in anyone else', async () => {
    const { body } = await browser.call('reauthenticateOauth', ACME)
    const url = await browser.visit(body.url)
    const stranger = open()
    expect((await stranger.open(url)).page).toBe('/?error=SIGN_IN_EXPIRED')
    expect(stranger.cookie).toBe('')
  })

  test('is limited for each user', async () => {
    for (let count = 0; count < 20; count++) await browser.call('reauthenticateOauth', ACME)
    expect((await browser.call('reauthenticateOauth', ACME)).status).toBe('429 RATE_LIMITED')
  })
})

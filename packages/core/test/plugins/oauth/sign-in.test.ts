import { beforeEach, describe, expect, test, vi } from 'vitest'
import { readAudit } from '../../support/read-audit.ts'
import { ACME, type Browser, createOauthAuth, newPerson } from './browser.ts'
import { CLIENT, startOidcServer } from './oidc-server.ts'

const acme = await startOidcServer()
const provider = { ...CLIENT, issuer: acme.issuer }
const { auth, open } = await createOauthAuth({
  providers: { acme: provider },
  redirects: ['https://other.example/in?from=acme'],
})

let ada: ReturnType<typeof newPerson>
let browser: Browser
beforeEach(() => {
  ada = newPerson()
  acme.person = ada
  acme.cancels = false
  browser = open()
})

describe('a sign-in at an OpenID provider', () => {
  test('creates a user with a session, and returns to the page', async () => {
    const landing = await browser.go('signInOauth')
    expect([landing.status, landing.page]).toEqual([303, '/home'])
    expect(landing.response.headers.get('cache-control')).toBe('no-store')
    const { body } = await browser.call('getSession')
    expect(body).toMatchObject({
      user: { name: 'Ada', email: ada.email, emailVerified: true, role: 'user' },
      session: { current: true, amr: ['oauth'] },
    })
    const audit = await readAudit(auth, body.user.id)
    expect(audit.map(({ type }) => type)).toEqual([
      'user.created',
      'user.verified',
      'oauth:account-linked',
      'session.created',
    ])
    expect(audit[1]).toMatchObject({ email: ada.email, actorId: null })
  })

  test('finds the same user again, whatever their email is by now', async () => {
    await browser.go('signInOauth')
    const { user } = (await browser.call('getSession')).body
    acme.person = { ...ada, email: 'elsewhere@example.com', email_verified: false }
    const laptop = open()
    await laptop.go('signInOauth')
    expect((await laptop.call('getSession')).body.user).toEqual(user)
  })

  test('works in several tabs at once, in any order', async () => {
    const begin = async () => browser.visit((await browser.call('signInOauth', ACME)).body.url)
    const [first, second, third] = [await begin(), await begin(), await begin()]
    for (const url of [second, first, third]) expect((await browser.open(url)).page).toBe('/home')
  })

  test('ends the session that the browser had', async () => {
    await browser.go('signInOauth')
    await browser.go('signInOauth')
    expect((await browser.call('listSessions')).body.sessions).toHaveLength(1)
  })

  test('expires with the browser session if the user wants that', async () => {
    const { response } = await browser.go('signInOauth', { ...ACME, rememberMe: false })
    const cookies = response.headers
      .getSetCookie()
      .filter((cookie) => /^service\.(jwt|session)=/.test(cookie))
    expect(cookies).toHaveLength(2)
    expect(cookies.join()).not.toContain('Max-Age')
  })

  test('keeps the texts of a provider out of the profile if ours could not be such', async () => {
    acme.person = { ...ada, name: 'Win at https://evil.example', picture: 'http://127.0.0.1/p.png' }
    await browser.go('signInOauth')
    expect((await browser.call('getSession')).body.user).toMatchObject({ name: 'New user', image: null })
  })

  test('works behind a proxy, where the request names another host', async () => {
    const { body } = await browser.call('signInOauth', ACME)
    const url = new URL(await browser.visit(body.url))
    const landing = await browser.open(`http://internal:8080${url.pathname}${url.search}`)
    expect(landing.page).toBe('/home')
  })

  test('is rejected for a banned user, which is recorded', async () => {
    await browser.go('signInOauth')
    const { id } = (await browser.call('getSession')).body.user
    await auth.db.updateTable('user').set({ banned: true }).where('id', '=', id).execute()
    const laptop = open()
    expect((await laptop.go('signInOauth')).page).toBe('/sign-in?error=ACCOUNT_BANNED')
    expect(laptop.cookie).not.toContain('service.session')
    expect(await readAudit(auth, id)).toContainEqual(
      expect.objectContaining({ type: 'sign-in.failed', reason: 'ACCOUNT_BANNED' }),
    )
  })
})

const secondFactor = { methodsOf: async () => ['otp'], remove: async () => ({ notify() {} }) }
const factor = { plugins: [{ id: 'factor', secondFactor }] } as const

describe('the second factor', () => {
  test('must still be proved: the page gets a challenge, in the part of the URL that no server sees', async () => {
    const { open: openOther } = await createOauthAuth({ providers: { acme: provider } }, factor)
    const other = openOther()
    const { page } = await other.go('signInOauth')
    expect(other.cookie).not.toContain('service.session')
    const url = new URL(page, 'http://localhost')
    expect(url.search).toBe('?error=FACTOR_REQUIRED')
    const challenge = Object.fromEntries(new URLSearchParams(url.hash.slice(1)))
    expect(challenge).toEqual({ challenge: expect.any(String), methods: 'otp', expiresIn: '600' })
  })
})

describe('where a sign-in returns', () => {
  test.each([
    ['a path', '/notes?page=2#top', '/notes?page=2#top'],
    ['a page of the app', 'http://localhost:3000/notes', '/notes'],
    ['a listed URL', 'https://other.example/in?from=acme', 'https://other.example/in?from=acme'],
  ])('may be %s', async (_name, redirectTo, page) => {
    expect((await browser.go('signInOauth', { ...ACME, redirectTo })).page).toBe(page)
  })

  test.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example/',
    '/\t/evil.example/',
    '\\\\evil.example/',
    'http://localhost:3000@evil.example/',
    'http://localhost:3000.evil.example/',
    'https://other.example/in?from=acme&more=1',
    'https://other.example/',
    'javascript:alert(1)',
    'blob:http://localhost:3000/page',
    'notes',
    '',
  ])('may not be %j', async (target) => {
    for (const field of ['redirectTo', 'errorTo']) {
      const { status, body } = await browser.call('signInOauth', { ...ACME, [field]: target })
      expect([status, body.fields]).toEqual(['400 INVALID_INPUT', [field]])
    }
    expect(browser.cookie).toBe('')
  })

  test('after an error is the page that began it, or else its destination', async () => {
    acme.cancels = true
    const input = { provider: 'acme', redirectTo: '/home' }
    browser.headers = { referer: 'http://localhost:3000/sign-in?error=OLD' }
    expect((await browser.go('signInOauth', input)).page).toBe('/sign-in?error=SIGN_IN_CANCELED')
    browser.headers = { referer: 'https://evil.example/' }
    expect((await browser.go('signInOauth', input)).page).toBe('/home?error=SIGN_IN_CANCELED')
  })
})

describe('a request to begin a sign-in', () => {
  test('is rejected for an unknown provider', async () => {
    for (const name of ['other', 'constructor', '__proto__'])
      expect((await browser.call('signInOauth', { ...ACME, provider: name })).status).toBe(
        '400 INVALID_INPUT',
      )
  })

  test('is rejected from another site', async () => {
    browser.headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    expect((await browser.call('signInOauth', ACME)).status).toBe('403 ORIGIN_REJECTED')
  })

  test('is limited by address', async () => {
    const limits = { address: { points: 2, duration: 60 } }
    const limited = await createOauthAuth({ providers: { acme: provider }, limits })
    const other = limited.open()
    for (let count = 0; count < 2; count++) expect((await other.call('signInOauth', ACME)).status).toBe('200')
    expect((await other.call('signInOauth', ACME)).status).toBe('429 RATE_LIMITED')
  })

  test('is not limited if the sign-ins succeed', async () => {
    const limits = { address: { points: 2, duration: 60 } }
    const limited = await createOauthAuth({ providers: { acme: provider }, limits })
    for (let count = 0; count < 4; count++)
      expect((await limited.open().go('signInOauth')).page).toBe('/home')
  })

  test('is not limited if the sign-ins continue with a second factor', async () => {
    const limits = { address: { points: 2, duration: 60 } }
    const limited = await createOauthAuth({ providers: { acme: provider }, limits }, factor)
    for (let count = 0; count < 4; count++)
      expect((await limited.open().go('signInOauth')).page).toContain('error=FACTOR_REQUIRED')
  })

  test('fails with 503 while the provider is down, and works once it is back', async () => {
    const { startLocalProvider } = await import('./local-provider.ts')
    const local = await startLocalProvider()
    const fetched = vi.spyOn(globalThis, 'fetch').mockRejectedValueOnce(new TypeError('fetch failed'))
    const other = await createOauthAuth(
      { providers: { acme: { ...CLIENT, issuer: local.issuer } } },
      { onFailure: () => {} },
    )
    expect((await other.open().call('signInOauth', ACME)).status).toBe('503 PROVIDER_UNAVAILABLE')
    fetched.mockRestore()
    expect((await other.open().call('signInOauth', ACME)).status).toBe('200')
  })
})

import { NO_SESSION, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { calculatePKCECodeChallenge, randomPKCECodeVerifier } from 'openid-client'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { createOutbox } from '../../support/outbox.ts'
import { ACME, type Browser, createOauthAuth, newPerson } from './browser.ts'
import { CLIENT, startOidcServer } from './oidc-server.ts'

const acme = await startOidcServer()
const LINK = 'com.example.app:/signed-in'
const EXPIRED = '400 SIGN_IN_EXPIRED'
const { sendEmail, emails } = createOutbox()
const { auth, open } = await createOauthAuth(
  { providers: { acme: { ...CLIENT, issuer: acme.issuer } }, redirects: [LINK] },
  { bearer: true, emailPassword: { sendEmail } },
)

let app: Browser
let system: Browser
let codeVerifier: string
beforeEach(async () => {
  acme.person = newPerson()
  acme.cancels = false
  app = open()
  app.headers = { [SESSION_HEADER]: NO_SESSION }
  system = open()
  codeVerifier = randomPKCECodeVerifier()
})

/** Visits the provider in the system's browser. Returns the deep link. */
async function visitProvider(
  name: 'signInOauth' | 'reauthenticateOauth',
  input: { rememberMe?: boolean } = {},
): Promise<URL> {
  const codeChallenge = await calculatePKCECodeChallenge(codeVerifier)
  const { status, body } = await app.call(name, {
    provider: 'acme',
    redirectTo: LINK,
    codeChallenge,
    ...input,
  })
  expect(status).toBe('200')
  return new URL((await system.open(await system.visit(body.url))).page)
}

const codeOf = (link: URL) => link.searchParams.get('code') ?? ''

/** Sends the code of a visit, and keeps the tokens in the app. */
async function complete(name: 'signInOauthCode' | 'reauthenticateOauthCode', link: URL): Promise<string> {
  const { status, body } = await app.call(name, { code: codeOf(link), codeVerifier })
  if (status === '200')
    app.headers = { authorization: `Bearer ${body.token}`, [SESSION_HEADER]: body.sessionToken }
  return status
}

const signIn = async () =>
  expect(await complete('signInOauthCode', await visitProvider('signInOauth'))).toBe('200')

describe('the sign-in of an app', () => {
  test('ends in a deep link with a code, which gets the tokens once', async () => {
    const link = await visitProvider('signInOauth')
    expect(link.href.split('?')[0]).toBe(LINK)
    expect([...link.searchParams.keys()]).toEqual(['code'])
    expect(system.cookie).toBe('')
    const input = { code: codeOf(link), codeVerifier }
    const { status, body } = await app.call('signInOauthCode', input)
    expect(status).toBe('200')
    expect(body).toMatchObject({ token: expect.any(String), sessionToken: expect.any(String) })
    expect((await app.call('signInOauthCode', input)).status).toBe(EXPIRED)
    app.headers = { authorization: `Bearer ${body.token}` }
    expect((await app.call('getSession')).body.session.amr).toEqual(['oauth'])
  })

  test('sends a notice, but not to a user who signs up', async () => {
    const { email } = newPerson()
    acme.person = { ...acme.person, email }
    const notices = (to = email) => emails.filter((sent) => sent.kind === 'new-sign-in' && sent.to === to)
    await signIn()
    auth.clock.advance(120)
    onTestFinished(() => auth.clock.advance(-120))
    await signIn()
    await eventually(() => expect(notices()).toHaveLength(1))
    const later = await auth.createUser()
    await open().signIn(later.email)
    await eventually(() => expect(notices(later.email)).toHaveLength(1))
    expect(notices()).toHaveLength(1)
  })

  test.each([
    [false, 1],
    [true, 30],
  ])('with rememberMe: %s begins a session of %i days', async (rememberMe, days) => {
    await complete('signInOauthCode', await visitProvider('signInOauth', { rememberMe }))
    const expiresAt = new Date(auth.clock.now().getTime() + days * 86_400_000).toISOString()
    expect((await app.call('getSession')).body.session.expiresAt).toBe(expiresAt)
  })

  test('is useless to another app that receives the deep link', async () => {
    const code = codeOf(await visitProvider('signInOauth'))
    const stolen = { code, codeVerifier: randomPKCECodeVerifier() }
    expect((await open().call('signInOauthCode', stolen)).status).toBe(EXPIRED)
    // Nor can it guess.
    expect((await app.call('signInOauthCode', { code, codeVerifier })).status).toBe(EXPIRED)
  })

  test('expires a minute after the deep link', async () => {
    const code = codeOf(await visitProvider('signInOauth'))
    auth.clock.advance(60)
    onTestFinished(() => auth.clock.advance(-60))
    expect((await app.call('signInOauthCode', { code, codeVerifier })).status).toBe(EXPIRED)
  })

  test('is rejected if the provider was unlinked meanwhile', async () => {
    const code = codeOf(await visitProvider('signInOauth'))
    await auth.db.deleteFrom('account').where('accountId', '=', acme.person.sub).execute()
    expect((await app.call('signInOauthCode', { code, codeVerifier })).status).toBe(EXPIRED)
  })

  test('tells the app about an error by its code', async () => {
    acme.cancels = true
    expect((await visitProvider('signInOauth')).href).toBe(`${LINK}?error=SIGN_IN_CANCELED`)
  })

  test('needs a deep link that is listed, and a challenge', async () => {
    const codeChallenge = await calculatePKCECodeChallenge(codeVerifier)
    const call = async (input: object) => {
      const { status, body } = await app.call('signInOauth', { provider: 'acme', ...input })
      return [status, body.fields]
    }
    expect(await call({ redirectTo: 'com.evil.app:/signed-in', codeChallenge })).toEqual([
      '400 INVALID_INPUT',
      ['redirectTo'],
    ])
    expect(await call({ redirectTo: '/home', codeChallenge })).toEqual(['400 INVALID_INPUT', ['redirectTo']])
    expect(await call({ redirectTo: LINK })).toEqual(['400 INVALID_INPUT', ['codeChallenge']])
    expect(await call({ redirectTo: LINK, codeChallenge: 'short' })).toEqual([
      '400 INVALID_INPUT',
      ['codeChallenge'],
    ])
  })

  test('is limited by address', async () => {
    const guess = { code: 'a guess', codeVerifier }
    const limits = { address: { points: 2, duration: 60 } }
    const limited = await createOauthAuth({
      providers: { acme: { ...CLIENT, issuer: acme.issuer } },
      limits,
    })
    const other = limited.open()
    for (let count = 0; count < 2; count++)
      expect((await other.call('signInOauthCode', guess)).status).toBe(EXPIRED)
    expect((await other.call('signInOauthCode', guess)).status).toBe('429 RATE_LIMITED')
  })

  test('is not re-authenticated by the code of a sign-in', async () => {
    await signIn()
    const code = codeOf(await visitProvider('signInOauth'))
    expect((await app.call('reauthenticateOauthCode', { code, codeVerifier })).status).toBe(EXPIRED)
  })

  test('does not link a provider, whose callback has no cookie of the session', async () => {
    await signIn()
    expect((await app.call('linkAccount', ACME)).status).toBe('400 BROWSER_REQUIRED')
  })
})

describe('the re-authentication of an app', () => {
  beforeEach(signIn)

  /** The provider's clock is the real one: the visit is fresh, and the session isn't. */
  const age = () =>
    auth.db
      .updateTable('session')
      .set({ lastAuthenticatedAt: new Date(auth.clock.now().getTime() - 3_600_000) })
      .execute()

  test('makes its session fresh, once, and replaces its credentials', async () => {
    await age()
    expect((await app.call('unlinkAccount', { accountId: 'x' })).status).toBe('403 SESSION_NOT_FRESH')
    const link = await visitProvider('reauthenticateOauth')
    const copy = app.headers
    expect(await complete('reauthenticateOauthCode', link)).toBe('200')
    expect((await app.call('unlinkAccount', { accountId: 'x' })).status).toBe('404 ACCOUNT_NOT_FOUND')
    expect(await complete('reauthenticateOauthCode', link)).toBe(EXPIRED)
    app.headers = copy
    expect((await app.call('getSession')).status).toBe('401 TOKEN_INVALID')
  })

  test('needs the verifier', async () => {
    const link = await visitProvider('reauthenticateOauth')
    codeVerifier = randomPKCECodeVerifier()
    expect(await complete('reauthenticateOauthCode', link)).toBe(EXPIRED)
  })

  test('needs a challenge', async () => {
    const { status, body } = await app.call('reauthenticateOauth', { provider: 'acme', redirectTo: LINK })
    expect([status, body.fields]).toEqual(['400 INVALID_INPUT', ['codeChallenge']])
  })

  test('is only for apps: with cookies, the visit must end in the browser that began it', async () => {
    const browser = open()
    await browser.go('signInOauth')
    const codeChallenge = await calculatePKCECodeChallenge(codeVerifier)
    const { status, body } = await browser.call('reauthenticateOauth', { ...ACME, codeChallenge })
    expect([status, body.fields]).toEqual(['400 INVALID_INPUT', ['codeChallenge']])
  })

  test('works in the session that began it, and begins none', async () => {
    const link = await visitProvider('reauthenticateOauth')
    const former = app.headers
    app.headers = { [SESSION_HEADER]: NO_SESSION }
    expect(await complete('signInOauthCode', link)).toBe(EXPIRED)
    app.headers = former
    const other = await visitProvider('reauthenticateOauth')
    app.headers = { [SESSION_HEADER]: NO_SESSION }
    await signIn()
    expect(await complete('reauthenticateOauthCode', other)).toBe(EXPIRED)
  })

  test('needs the session token', async () => {
    const link = await visitProvider('reauthenticateOauth')
    const { authorization = '' } = app.headers
    const owner = app.headers
    app.headers = { authorization }
    expect(await complete('reauthenticateOauthCode', link)).toBe('400 SESSION_SECRET_REQUIRED')
    app.headers = owner
    expect(await complete('reauthenticateOauthCode', link)).toBe('200')
  })

  test('is rejected if the provider was unlinked meanwhile', async () => {
    const link = await visitProvider('reauthenticateOauth')
    await auth.db.deleteFrom('account').where('accountId', '=', acme.person.sub).execute()
    expect(await complete('reauthenticateOauthCode', link)).toBe(EXPIRED)
  })

  test('is rejected for another account of the provider', async () => {
    acme.person = newPerson()
    system = open()
    expect((await visitProvider('reauthenticateOauth')).href).toBe(`${LINK}?error=ACCOUNT_MISMATCH`)
  })
})

test('a cookie that is sent to other sites cannot finish a sign-in: the app says so', async () => {
  const failures: { cause: unknown }[] = []
  const crossSite = await createOauthAuth(
    { providers: { acme: { ...CLIENT, issuer: acme.issuer } } },
    {
      baseUrl: 'https://api.example.com',
      allowedOrigins: ['https://app.example.org'],
      cookieSameSite: 'none',
      onFailure: (failure) => void failures.push(failure),
    },
  )
  expect((await crossSite.open().call('signInOauth', ACME)).status).toBe('500 INTERNAL_ERROR')
  expect(String(failures[0]?.cause)).toContain('cookieSameSite')
})

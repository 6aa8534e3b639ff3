import { NO_SESSION, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { calculatePKCECodeChallenge, randomPKCECodeVerifier } from 'openid-client'
import { beforeEach, describe, expect, test } from 'vitest'
import { ACME, type Browser, createOauthAuth, newPerson } from './browser.ts'
import { CLIENT, startOidcServer } from './oidc-server.ts'

const acme = await startOidcServer()
const LINK = 'com.example.app:/signed-in'
const { auth, open } = await createOauthAuth(
  { providers: { acme: { ...CLIENT, issuer: acme.issuer } }, redirects: [LINK] },
  { bearer: true },
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

/** Signs in in the system's browser. Returns the deep link. */
async function signInAtProvider(): Promise<URL> {
  const codeChallenge = await calculatePKCECodeChallenge(codeVerifier)
  const { status, body } = await app.call('signInOauth', {
    provider: 'acme',
    redirectTo: LINK,
    codeChallenge,
  })
  expect(status).toBe('200')
  return new URL((await system.open(await system.visit(body.url))).page)
}

const codeOf = (link: URL) => link.searchParams.get('code') ?? ''

describe('the sign-in of an app', () => {
  test('ends in a deep link with a code, which gets the tokens once', async () => {
    const link = await signInAtProvider()
    expect(link.href.split('?')[0]).toBe(LINK)
    expect([...link.searchParams.keys()]).toEqual(['code'])
    expect(system.cookie).toBe('')
    const input = { code: codeOf(link), codeVerifier }
    const { status, body } = await app.call('signInOauthCode', input)
    expect(status).toBe('200')
    expect(body).toMatchObject({ token: expect.any(String), sessionToken: expect.any(String) })
    expect((await app.call('signInOauthCode', input)).status).toBe('400 SIGN_IN_EXPIRED')
    app.headers = { authorization: `Bearer ${body.token}` }
    expect((await app.call('getSession')).body.session.amr).toEqual(['oauth'])
  })

  test('is useless to another app that receives the deep link', async () => {
    const code = codeOf(await signInAtProvider())
    const stolen = { code, codeVerifier: randomPKCECodeVerifier() }
    expect((await open().call('signInOauthCode', stolen)).status).toBe('400 SIGN_IN_EXPIRED')
    // Nor can it guess.
    expect((await app.call('signInOauthCode', { code, codeVerifier })).status).toBe('400 SIGN_IN_EXPIRED')
  })

  test('expires a minute after the deep link', async () => {
    const code = codeOf(await signInAtProvider())
    auth.clock.advance(60)
    expect((await app.call('signInOauthCode', { code, codeVerifier })).status).toBe('400 SIGN_IN_EXPIRED')
  })

  test('is rejected if the provider was unlinked meanwhile', async () => {
    const code = codeOf(await signInAtProvider())
    await auth.db.deleteFrom('account').where('accountId', '=', acme.person.sub).execute()
    expect((await app.call('signInOauthCode', { code, codeVerifier })).status).toBe('400 SIGN_IN_EXPIRED')
  })

  test('tells the app about an error by its code', async () => {
    acme.cancels = true
    expect((await signInAtProvider()).href).toBe(`${LINK}?error=SIGN_IN_CANCELED`)
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
      expect((await other.call('signInOauthCode', guess)).status).toBe('400 SIGN_IN_EXPIRED')
    expect((await other.call('signInOauthCode', guess)).status).toBe('429 RATE_LIMITED')
  })

  test('does not link a provider, whose callback has no cookie of the session', async () => {
    const code = codeOf(await signInAtProvider())
    const { body } = await app.call('signInOauthCode', { code, codeVerifier })
    app.headers = { authorization: `Bearer ${body.token}`, [SESSION_HEADER]: body.sessionToken }
    expect((await app.call('linkAccount', ACME)).status).toBe('400 BROWSER_REQUIRED')
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

import { inspect } from 'node:util'
import type { AuthFailure } from '@sallyport/core'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { serve } from '../../sign-in-elsewhere/serve.ts'
import { ACME, type Browser, createOauthAuth, newPerson } from './browser.ts'
import { startLocalProvider } from './local-provider.ts'
import { CLIENT } from './oidc-server.ts'

const [acme, evil] = await Promise.all([
  startLocalProvider(),
  startLocalProvider({ authorization_response_iss_parameter_supported: true }),
])
const failures: AuthFailure[] = []
const { auth, open } = await createOauthAuth(
  {
    providers: {
      acme: { ...CLIENT, issuer: acme.issuer },
      evil: { ...CLIENT, issuer: evil.issuer },
      // Each has only one of PKCE and the nonce.
      'without-pkce': { ...CLIENT, issuer: acme.issuer, pkce: false },
      plain: {
        ...CLIENT,
        authorizationEndpoint: `${acme.issuer}/authorize`,
        tokenEndpoint: `${acme.issuer}/token`,
        userInfoEndpoint: `${acme.issuer}/me`,
      },
    },
    errorTo: '/help',
  },
  { onFailure: (failure) => void failures.push(failure) },
)

let browser: Browser
beforeEach(() => {
  for (const provider of [acme, evil])
    Object.assign(provider, {
      person: newPerson(),
      alter: (claims: object) => claims,
      alterTokens: (tokens: object) => tokens,
      signsWithStrangeKey: false,
      added: {},
      tokenStatus: 200,
      cutsTokens: false,
      challenges: false,
    })
  browser = open()
})

const countRows = async () =>
  Promise.all(
    (['user', 'account', 'session'] as const).map(
      async (table) => (await auth.db.selectFrom(table).select('id').execute()).length,
    ),
  )

let before: number[]
beforeEach(async () => {
  before = await countRows()
})

async function expectRejection(go: Promise<{ status: number; page: string }>, page: string): Promise<void> {
  expect(await go).toMatchObject({ status: 303, page })
  expect(browser.cookie).not.toContain('service.session')
  expect(await countRows()).toEqual(before)
}

const begin = async (from = browser, provider = 'acme') =>
  from.visit((await from.call('signInOauth', { ...ACME, provider })).body.url)

const FAILED = '/sign-in?error=SIGN_IN_FAILED'
const EXPIRED = '/help?error=SIGN_IN_EXPIRED'

describe('a callback is rejected', () => {
  const altered = async (alter: (parameters: URLSearchParams) => void, url = begin()) => {
    const changed = new URL(await url)
    alter(changed.searchParams)
    return browser.open(changed.href)
  }

  test.each([
    ['another state', (query: URLSearchParams) => query.set('state', 'another'), EXPIRED],
    ['no state', (query: URLSearchParams) => query.delete('state'), EXPIRED],
    ['no code', (query: URLSearchParams) => query.delete('code'), FAILED],
    ['a made-up code', (query: URLSearchParams) => query.set('code', crypto.randomUUID()), FAILED],
    ['an error of the provider', (query: URLSearchParams) => query.set('error', 'consent_required'), FAILED],
    ['another issuer', (query: URLSearchParams) => query.set('iss', 'https://evil.example'), FAILED],
  ])('with %s', (_name, alter, page) => expectRejection(altered(alter), page))

  test('in a browser that has begun none', async () => {
    const url = await begin(open())
    await expectRejection(browser.open(url), EXPIRED)
  })

  test('in a browser that has begun another one', async () => {
    const url = await begin(open())
    await begin()
    await expectRejection(browser.open(url), EXPIRED)
  })

  test('after ten minutes', async () => {
    const url = await begin()
    auth.clock.advance(10 * 60)
    await expectRejection(browser.open(url), EXPIRED)
  })

  test('for a state that was used, even if the provider accepts the code again', async () => {
    const url = await begin()
    const thief = open()
    thief.cookie = browser.cookie
    expect((await browser.open(url)).page).toBe('/home')
    const replayed = new URL(url)
    replayed.searchParams.set('code', new URL(await begin(open())).searchParams.get('code') ?? '')
    expect((await thief.open(replayed.href)).page).toBe(EXPIRED)
    expect(thief.cookie).not.toContain('service.session')
  })

  test('for a state that failed once', async () => {
    const url = await begin()
    const cookie = browser.cookie
    const changed = new URL(url)
    changed.searchParams.set('code', 'wrong')
    await expectRejection(browser.open(changed.href), FAILED)
    browser.cookie = cookie
    await expectRejection(browser.open(url), EXPIRED)
  })

  test.each([
    ['acme', 'PKCE and the nonce'],
    ['plain', 'PKCE'],
    ['without-pkce', 'the nonce'],
  ])('at %s with the code of another browser, to which %s binds it', async (provider) => {
    acme.resources.set('/me', acme.person)
    expect((await open().go('signInOauth', { ...ACME, provider })).page).toBe('/home')
    before = await countRows()
    const stolen = new URL(await begin(open(), provider)).searchParams.get('code') ?? ''
    const inject = (query: URLSearchParams) => query.set('code', stolen)
    await expectRejection(altered(inject, begin(browser, provider)), FAILED)
  })

  test('if another request with the same state is a moment earlier', async () => {
    const url = await begin()
    const pages = await Promise.all([browser.open(url), browser.open(url)])
    expect(pages.map(({ page }) => page).sort()).toEqual([EXPIRED, '/home'])
  })

  test('with a code that was requested without PKCE and nonce', async () => {
    const request = { response_type: 'code', client_id: CLIENT.clientId, scope: 'openid' }
    const redirectUri = 'http://localhost:3000/api/auth/callback/acme'
    const query = new URLSearchParams({ ...request, redirect_uri: redirectUri })
    const injected = new URL(await open().visit(`${acme.issuer}/authorize?${query}`))
    const code = injected.searchParams.get('code') ?? ''
    await expectRejection(
      altered((parameters) => parameters.set('code', code)),
      FAILED,
    )
  })

  test('at the callback of another provider', async () => {
    const url = new URL(await begin())
    url.pathname = '/api/auth/callback/evil'
    url.searchParams.set('iss', evil.issuer)
    await expectRejection(browser.open(url.href), EXPIRED)
    expect(evil.tokenRequests).toEqual([])
  })

  test('without the issuer that the provider announces', async () => {
    await expectRejection(
      begin(browser, 'evil').then((url) => browser.open(url)),
      FAILED,
    )
    evil.added = { iss: evil.issuer }
    expect((await browser.open(await begin(browser, 'evil'))).page).toBe('/home')
  })

  test('twice with the same parameter', async () => {
    const response = await browser.open(`${await begin()}&state=another`)
    expect(response.status).toBe(400)
  })

  test('in a frame or as an image', async () => {
    const url = await begin()
    const headers = { cookie: browser.cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'iframe' }
    const response = await auth.handler(
      new Request(url, { headers: { ...headers, 'sec-fetch-mode': 'navigate' } }),
    )
    expect([response.status, (await response.json()).code]).toEqual([403, 'ORIGIN_REJECTED'])
  })
})

test('callbacks are limited by address, before anything else', async () => {
  const limits = { address: { points: 2, duration: 60 } }
  const limited = await createOauthAuth({
    providers: { acme: { ...CLIENT, issuer: acme.issuer } },
    limits,
  })
  const other = limited.open()
  const url = 'http://localhost:3000/api/auth/callback/acme?state=guess'
  for (let count = 0; count < 2; count++) expect((await other.open(url)).page).toBe('/?error=SIGN_IN_EXPIRED')
  expect((await other.open(url)).page).toBe('/?error=RATE_LIMITED')
})

test('metadata that name an endpoint on another host without https are rejected', async () => {
  const careless = await startLocalProvider({ token_endpoint: 'http://careless.example/token' })
  const { open: openOther } = await createOauthAuth(
    { providers: { acme: { ...CLIENT, issuer: careless.issuer } } },
    { onFailure: () => {} },
  )
  expect((await openOther().call('signInOauth', ACME)).status).toBe('503 PROVIDER_UNAVAILABLE')
})

test('metadata of another issuer are rejected', async () => {
  const impostor = await startLocalProvider({ issuer: acme.issuer })
  const { open: openOther } = await createOauthAuth(
    { providers: { acme: { ...CLIENT, issuer: impostor.issuer } } },
    { onFailure: () => {} },
  )
  expect((await openOther().call('signInOauth', ACME)).status).toBe('503 PROVIDER_UNAVAILABLE')
})

describe('an ID token is rejected', () => {
  test.each([
    ['for another app', { aud: 'another-app' }],
    ['for several apps, given to another one', { aud: [CLIENT.clientId, 'another-app'], azp: 'another-app' }],
    ['of another issuer', { iss: 'https://evil.example' }],
    ['that has expired', { exp: 1 }],
    ['with another nonce', { nonce: 'another' }],
    ['without a nonce', { nonce: undefined }],
    ['without a subject', { sub: undefined }],
  ])('%s', async (_name, changes) => {
    acme.alter = (claims) => Object.assign(claims, changes)
    await expectRejection(browser.go('signInOauth'), FAILED)
  })

  test('that the provider has not signed', async () => {
    acme.signsWithStrangeKey = true
    await expectRejection(browser.go('signInOauth'), FAILED)
  })

  test('that names no signature algorithm', async () => {
    acme.alterTokens = ({ id_token: signed, ...tokens }) => {
      const header = Buffer.from('{"alg":"none"}').toString('base64url')
      return { ...tokens, id_token: `${header}.${String(signed).split('.')[1]}.` }
    }
    await expectRejection(browser.go('signInOauth'), FAILED)
  })

  test('that is missing', async () => {
    acme.alterTokens = ({ id_token: _removed, ...tokens }) => tokens
    await expectRejection(browser.go('signInOauth'), FAILED)
  })
})

describe('a failure of the provider', () => {
  const said = (error: string) => expect.objectContaining({ message: `The provider says ${error}` })

  test('is reported to the operator, and not to the user', async () => {
    const onFailure = vi.fn()
    const other = await createOauthAuth(
      { providers: { acme: { ...CLIENT, issuer: acme.issuer } } },
      { onFailure },
    )
    acme.tokenStatus = 500
    await expectRejection(other.open().go('signInOauth'), '/sign-in?error=PROVIDER_UNAVAILABLE')
    expect(onFailure).toHaveBeenCalledOnce()
  })

  // A provider that rejects PKCE, or wants pushed requests, says invalid_request.
  test.each([
    'invalid_scope',
    'unauthorized_scope_error',
    'redirect_uri_mismatch',
    'server_error',
    'invalid_request',
  ])('is reported if the callback says %s', async (error) => {
    // Only the first failure of a path in a minute is reported at once.
    const onFailure = vi.fn()
    const providers = { acme: { ...CLIENT, issuer: acme.issuer } }
    const other = await createOauthAuth({ providers }, { onFailure })
    acme.added = { error }
    expect((await other.open().go('signInOauth')).page).toBe('/sign-in?error=PROVIDER_UNAVAILABLE')
    expect(onFailure.mock.calls).toEqual([
      [
        expect.objectContaining({
          code: 'PROVIDER_UNAVAILABLE',
          path: '/callback/acme',
          cause: expect.objectContaining({ cause: said(error) }),
        }),
      ],
    ])
  })

  test.each(['invalid_token', 'insufficient_scope'])('is reported if UserInfo says %s', async (error) => {
    const headers = { 'www-authenticate': `Bearer error="${error}"` }
    const userInfo = await serve(async () => new Response(null, { status: 403, headers }))
    const local = await startLocalProvider({ userinfo_endpoint: userInfo })
    const onFailure = vi.fn()
    const providers = { acme: { ...CLIENT, issuer: local.issuer } }
    const other = await createOauthAuth({ providers }, { onFailure })
    expect((await other.open().go('signInOauth')).page).toBe('/sign-in?error=PROVIDER_UNAVAILABLE')
    expect(onFailure.mock.lastCall?.[0].cause.cause).toEqual(said(error))
  })

  test.each([
    ['a wrong secret is reported', 'incorrect_client_credentials', 'PROVIDER_UNAVAILABLE', true],
    ['a used code is not', 'bad_verification_code', 'SIGN_IN_FAILED', false],
  ])('with the status 200 of GitHub: %s', async (_name, error, code, isReported) => {
    failures.length = 0
    acme.alterTokens = () => ({ error, error_description: 'See the documentation' })
    await expectRejection(browser.go('signInOauth', { ...ACME, provider: 'plain' }), `/sign-in?error=${code}`)
    const texts = failures.map((failure) => inspect(failure.cause))
    expect(texts).toEqual(isReported ? [expect.stringContaining(`The provider says ${error}`)] : [])
  })

  type Changes = { claims?: object; tokens?: object; signsWithStrangeKey?: boolean }
  test.each<[string, string, Changes]>([
    ['another issuer', '"iss" (issuer)', { claims: { iss: 'https://evil.example' } }],
    ['no nonce', '"nonce" (nonce)', { claims: { nonce: undefined } }],
    ['a wrong time', '"exp" (expiration time)', { claims: { exp: 1 } }],
    ['no ID token', '"id_token"', { tokens: { id_token: undefined } }],
    ['no token type', '"token_type"', { tokens: { token_type: undefined } }],
    ['another key', 'signature', { signsWithStrangeKey: true }],
  ])('is reported, without tokens, if the response has %s', async (_name, reason, changes) => {
    const onFailure = vi.fn()
    const providers = { acme: { ...CLIENT, issuer: acme.issuer } }
    const other = await createOauthAuth({ providers }, { onFailure })
    const { claims: altered, tokens: alteredTokens, signsWithStrangeKey = false } = changes
    acme.alter = (claims) => ({ ...claims, ...altered })
    acme.alterTokens = (tokens) => ({ ...tokens, ...alteredTokens })
    acme.signsWithStrangeKey = signsWithStrangeKey
    await expectRejection(other.open().go('signInOauth'), FAILED)
    const cause = expect.objectContaining({ message: expect.stringContaining(reason) })
    expect(onFailure.mock.calls).toEqual([
      [expect.objectContaining({ code: 'PROVIDER_UNAVAILABLE', path: '/callback/acme', cause })],
    ])
    expect(inspect(onFailure.mock.calls, { depth: null })).not.toContain('access_token')
  })

  test.each([false, true])('that the user caused is not reported (a challenge: %s)', async (challenges) => {
    failures.length = 0
    acme.challenges = challenges
    const url = new URL(await begin())
    url.searchParams.set('code', 'wrong')
    await expectRejection(browser.open(url.href), FAILED)
    expect(failures).toEqual([])
  })

  test.each(['acme', 'plain'])('is a response of %s that is cut', async (provider) => {
    acme.cutsTokens = true
    const go = browser.go('signInOauth', { ...ACME, provider })
    await expectRejection(go, '/sign-in?error=PROVIDER_UNAVAILABLE')
  })
})

describe('what an ID token says about the sign-in', () => {
  const claims = { amr: ['pwd', 'otp'], acr: 'urn:example:silver' }

  test('gives the session its acr, and no method unless they are trusted', async () => {
    acme.alter = (given) => ({ ...given, ...claims })
    await browser.go('signInOauth')
    const { body } = await browser.call('getSession')
    expect(body.session.amr).toEqual(['oauth'])
    const row = await auth.db.selectFrom('session').select('acr').where('id', '=', body.session.id).execute()
    expect(row).toEqual([{ acr: 'urn:example:silver' }])
  })

  test('adds its methods with trustAmr', async () => {
    const trusting = await createOauthAuth({
      providers: { acme: { ...CLIENT, issuer: acme.issuer, trustAmr: true } },
    })
    acme.alter = (given) => ({ ...given, ...claims })
    const other = trusting.open()
    await other.go('signInOauth')
    expect((await other.call('getSession')).body.session.amr).toEqual(['oauth', 'pwd', 'otp'])
  })
})

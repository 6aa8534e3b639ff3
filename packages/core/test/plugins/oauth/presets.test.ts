import { rejections } from '@sallyport/core/auth'
import type { OauthProviderOptions } from '@sallyport/core/plugins/oauth'
import { oauth } from '@sallyport/core/plugins/oauth'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import { ACME, createOauthAuth } from './browser.ts'
import { startLocalProvider } from './local-provider.ts'
import { CLIENT } from './oidc-server.ts'

const local = await startLocalProvider()
const plain = {
  ...CLIENT,
  issuer: local.issuer,
  authorizationEndpoint: `${local.issuer}/authorize`,
  tokenEndpoint: `${local.issuer}/token`,
  userInfoEndpoint: `${local.issuer}/me`,
}
const openId = { ...CLIENT, issuer: local.issuer }

interface Case {
  readonly name: string
  readonly endpoints: OauthProviderOptions
  readonly claims?: object
  readonly resources?: Record<string, unknown>
  /** The user, or the code of the rejection. */
  readonly expected: object | string
  /** Parameters of the authorization request. */
  readonly asks?: object
}

const email = (name: string) => `${name}@example.com`
const verified = (name: string) => ({ name: 'Ada', email: email(name), emailVerified: true })
const claims = (name: string) => ({ email: email(name), email_verified: true, name: 'Ada' })

const CASES: readonly Case[] = [
  {
    name: 'google',
    endpoints: openId,
    claims: { ...claims('google'), picture: 'https://lh3.example.com/a.png' },
    expected: { ...verified('google'), image: 'https://lh3.example.com/a.png' },
    asks: { scope: 'openid email profile', access_type: 'offline', code_challenge_method: 'S256' },
  },
  {
    name: 'github',
    endpoints: plain,
    resources: {
      '/me': { id: 1815, login: 'ada', name: null, email: 'public@example.com', avatar_url: null },
      '/me/emails': [
        { email: 'public@example.com', primary: false, verified: false },
        { email: email('github'), primary: true, verified: true },
      ],
    },
    expected: { ...verified('github'), name: 'ada' },
    asks: { scope: 'read:user user:email', code_challenge_method: 'S256' },
  },
  {
    name: 'github',
    endpoints: plain,
    resources: {
      '/me': { id: 1816, login: 'ada' },
      '/me/emails': [{ email: email('github-2'), primary: true, verified: false }],
    },
    expected: 'PROVIDER_EMAIL_UNVERIFIED',
  },
  {
    name: 'discord',
    endpoints: plain,
    resources: {
      '/me': {
        id: '80351',
        username: 'ada',
        global_name: 'Ada',
        avatar: 'abc',
        email: email('discord'),
        verified: true,
      },
    },
    expected: { ...verified('discord'), image: 'https://cdn.discordapp.com/avatars/80351/abc.png' },
    asks: { scope: 'identify email' },
  },
  {
    name: 'discord',
    endpoints: plain,
    resources: { '/me': { id: '80352', username: 'ada', email: email('discord-2'), verified: false } },
    expected: 'PROVIDER_EMAIL_UNVERIFIED',
  },
  {
    name: 'microsoft',
    endpoints: openId,
    claims: { ...claims('microsoft'), xms_edov: true },
    expected: verified('microsoft'),
  },
  {
    // Any tenant can set the email of its users.
    name: 'microsoft',
    endpoints: openId,
    claims: claims('microsoft-2'),
    expected: 'PROVIDER_EMAIL_UNVERIFIED',
  },
  { name: 'gitlab', endpoints: openId, claims: claims('gitlab'), expected: verified('gitlab') },
  {
    name: 'linkedin',
    endpoints: plain,
    resources: { '/me': { sub: 'in-1', ...claims('linkedin') } },
    expected: verified('linkedin'),
    asks: { scope: 'openid profile email', code_challenge: undefined, nonce: undefined },
  },
  {
    name: 'facebook',
    endpoints: plain,
    resources: {
      '/me': {
        id: '10',
        name: 'Ada',
        email: email('facebook'),
        picture: { data: { url: 'https://cdn.example.com/a.png' } },
      },
    },
    expected: 'PROVIDER_EMAIL_UNVERIFIED',
    asks: { scope: 'public_profile email' },
  },
  {
    name: 'spotify',
    endpoints: plain,
    resources: { '/me': { id: 'ada', display_name: 'Ada', email: email('spotify'), images: [] } },
    expected: 'PROVIDER_EMAIL_UNVERIFIED',
    asks: { scope: 'user-read-email' },
  },
  {
    name: 'twitch',
    endpoints: openId,
    claims: { ...claims('twitch'), name: undefined, preferred_username: 'Ada' },
    expected: verified('twitch'),
    asks: { scope: 'openid user:read:email', claims: expect.stringContaining('email_verified') },
  },
]

// Against a local provider: their own need an app that is registered there.
describe('the preset', () => {
  test.each(CASES)('$name reads the person (%#)', async ({ name, endpoints, expected, asks, ...answers }) => {
    local.person = { sub: crypto.randomUUID() }
    local.alter = (given) => ({ ...given, ...answers.claims })
    local.resources.clear()
    for (const [path, resource] of Object.entries(answers.resources ?? {}))
      local.resources.set(path, resource)
    // As Twitch does.
    local.alterTokens = (tokens) => ({ ...tokens, ...(name === 'twitch' && { scope: ['openid'] }) })
    const { open } = await createOauthAuth({ providers: { [name]: endpoints } })
    const browser = open()
    const { body } = await browser.call('signInOauth', { ...ACME, provider: name })
    const query = Object.fromEntries(new URL(body.url).searchParams)
    for (const [parameter, value] of Object.entries(asks ?? {})) expect(query[parameter]).toEqual(value)
    const { page } = await browser.open(await browser.visit(body.url))
    if (typeof expected === 'string') return expect(page).toBe(`/sign-in?error=${expected}`)
    expect(page).toBe('/home')
    expect((await browser.call('getSession')).body.user).toMatchObject(expected)
  })

  test('spotify sends the secret in a header', () => {
    const request = local.tokenRequests.find(({ authorization }) => authorization !== null)
    expect(request?.authorization).toMatch(/^Basic /)
    expect(request?.parameters.has('client_secret')).toBe(false)
  })

  test.each([
    'google',
    'github',
    'discord',
    'apple',
    'microsoft',
    'gitlab',
    'linkedin',
    'facebook',
    'spotify',
    'twitch',
  ])('%s needs only the id and the secret of the app', (name) => {
    expect(() => oauth({ providers: { [name]: CLIENT } })).not.toThrow()
  })
})

describe('the options', () => {
  test('name the providers that the endpoints accept', () => {
    const isGoogleSet: boolean = Object.keys(CLIENT).length === 0
    const plugin = oauth({ providers: { github: CLIENT, ...(isGoogleSet && { google: CLIENT }) } })
    type Api = TestAuth<readonly [typeof plugin]>['api']
    type Input = Parameters<Api['signInOauth'] | Api['linkAccount'] | Api['reauthenticateOauth']>[0]
    expectTypeOf<Input['provider']>().toEqualTypeOf<'github' | 'google'>()
    expect(plugin.endpoints).toHaveProperty('signInOauth')
  })

  test.each([
    ['plain http', { acme: { ...CLIENT, issuer: 'http://acme.example' } }, 'acme.issuer must be https'],
    [
      'the name of the password',
      { credential: { ...CLIENT, issuer: 'https://acme.example' } },
      "isn't a valid",
    ],
    ['a name that is no path', { 'a/b': { ...CLIENT, issuer: 'https://acme.example' } }, "isn't a valid"],
  ])('with %s are rejected', (_name, providers, message) => {
    expect(() => oauth<string>({ providers })).toThrow(message)
  })

  test.each([
    ['an unknown preset', { acme: CLIENT }, 'providers.acme needs issuer'],
    ['no id', { google: { ...CLIENT, clientId: '' } }, 'providers.google.clientId is missing'],
    ['no secret', { google: { ...CLIENT, clientSecret: '' } }, 'providers.google.clientSecret is missing'],
    [
      'half of the endpoints',
      { acme: { ...CLIENT, authorizationEndpoint: 'https://acme.example' } },
      'needs tokenEndpoint',
    ],
  ])('with %s are rejected at the start of the server, not in a build', async (_name, providers, message) => {
    const plugins = [oauth<string>({ providers })]
    await expect(createTestAuth({ plugins })).rejects.toThrow(message)
  })

  test('may read more of a person at an OpenID provider', async () => {
    const discovered = await startLocalProvider({ userinfo_endpoint: `${local.issuer}/userinfo` })
    local.resources.set('/userinfo/profile', { nickname: 'Ada' })
    const acme: OauthProviderOptions = {
      ...CLIENT,
      issuer: discovered.issuer,
      async readPerson({ claims, get }) {
        const { nickname } = Object(await get('profile'))
        return { accountId: String(claims.sub), name: nickname, email: email('more'), emailVerified: true }
      },
    }
    const browser = (await createOauthAuth({ providers: { acme } })).open()
    discovered.person = { sub: crypto.randomUUID(), email: email('more') }
    expect((await browser.go('signInOauth')).page).toBe('/home')
    expect((await browser.call('getSession')).body.user.name).toBe('Ada')
  })

  test('may reject a person, whose page gets the code', async () => {
    const reject = rejections({
      OTHER_DOMAIN: { status: 403, message: 'Sign in with your company account.' },
    })
    const readPerson = () => {
      throw reject('OTHER_DOMAIN')
    }
    const onFailure = vi.fn()
    const { open } = await createOauthAuth({ providers: { acme: { ...openId, readPerson } } }, { onFailure })
    local.person = { sub: crypto.randomUUID() }
    local.alterTokens = (tokens) => tokens
    expect((await open().go('signInOauth')).page).toBe('/sign-in?error=OTHER_DOMAIN')
    expect(onFailure).not.toHaveBeenCalled()
  })

  test('may have a function that returns the secret', async () => {
    let count = 0
    const clientSecret = async () => `${count++ === 0 ? '' : 'not '}${CLIENT.clientSecret}`
    const { open } = await createOauthAuth(
      { providers: { acme: { ...openId, clientSecret } } },
      { onFailure: () => {} },
    )
    local.person = { sub: crypto.randomUUID() }
    local.alterTokens = (tokens) => tokens
    local.alter = (given) => ({ ...given, ...claims('secret') })
    expect((await open().go('signInOauth')).page).toBe('/home')
    // A wrong secret is for the operator, not for the user.
    expect((await open().go('signInOauth')).page).toBe('/sign-in?error=PROVIDER_UNAVAILABLE')
  })
})

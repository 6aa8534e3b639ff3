import { type AuthConfigOptions, ConfigurationError, defineAuthConfig } from '@sallyport/core'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createTokenGate } from './support/token-gate.ts'

const { keySet: jwks } = await createTokenGate()
const baseUrl = 'https://app.example.com'

test('needs only a base URL and keys: 15 minutes, 30 days, cookies named service, no bearer (spec section 8)', () => {
  const config = defineAuthConfig({ baseUrl, jwks })
  expect(config).toMatchObject({
    issuer: baseUrl,
    audience: baseUrl,
    secure: true,
    bearer: false,
    cookies: { jwt: 'service.jwt', session: '__Host-service.session', device: '__Host-service.device' },
    jwtLifetimeSeconds: 15 * 60,
    lookupTimeoutMs: 2_000,
    lifetimes: {
      expiresInSeconds: 30 * 24 * 60 * 60,
      unrememberedExpiresInSeconds: 24 * 60 * 60,
      absoluteLifetimeSeconds: 180 * 24 * 60 * 60,
      idleTimeoutSeconds: Number.POSITIVE_INFINITY,
      renewAfterSeconds: 24 * 60 * 60,
    },
    maxSessionsPerUser: 1_000,
    whenFull: 'evict-oldest',
    rotateSessionToken: false,
    freshForSeconds: 15 * 60,
    trustedProxies: [],
    onEvent: undefined,
  })
  expect([...config.allowedOrigins]).toEqual([baseUrl])
  expect(Math.abs(config.now().getTime() - Date.now())).toBeLessThan(60_000)
})

test('accepts Infinity where a setting may be unlimited', () => {
  const none = Number.POSITIVE_INFINITY
  const lifetimes = { absoluteLifetimeSeconds: none, idleTimeoutSeconds: none }
  const limits = { maxSessionsPerUser: none, freshForSeconds: none }
  const config = defineAuthConfig({ baseUrl, jwks, session: { ...lifetimes, ...limits } })
  expect(config).toMatchObject({ lifetimes, ...limits })
})

describe('the other names of this machine', () => {
  afterEach(() => vi.unstubAllEnvs())
  const originsOf = (url: string, environment: string) => {
    vi.stubEnv('NODE_ENV', environment)
    return [...defineAuthConfig({ baseUrl: url, jwks }).allowedOrigins]
  }

  test.each(['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000'])(
    'are allowed in development, with the port of %s',
    (url) => {
      const others = ['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000']
      for (const environment of ['', 'test', 'development'])
        expect(originsOf(url, environment).sort()).toEqual(others.sort())
    },
  )

  test.each([
    { url: 'http://localhost:3000', environment: 'production' },
    { url: 'https://localhost:3000', environment: 'development' },
    { url: 'http://192.168.1.5:3000', environment: 'development' },
    { url: 'http://localhost.example.com', environment: 'development' },
  ])('are not allowed with $url in $environment', ({ url, environment }) => {
    expect(originsOf(url, environment)).toEqual([url])
  })
})

describe('rejects an unusable setting by its name', () => {
  const settings: [string, Partial<AuthConfigOptions>][] = [
    ['baseUrl', { baseUrl: '' }],
    ['baseUrl', { baseUrl: 'app.example.com' }],
    ['baseUrl', { baseUrl: '/app' }],
    ['baseUrl', { baseUrl: 'ftp://app.example.com' }],
    ['baseUrl', { baseUrl: 'file:///app' }],
    ['baseUrl', { baseUrl: 'javascript:alert(1)' }],
    ['baseUrl', { baseUrl: 'https://*.example.com' }],
    ['allowedOrigins', { allowedOrigins: ['*'] }],
    ['allowedOrigins', { allowedOrigins: ['https://*.example.com'] }],
    ['allowedOrigins', { allowedOrigins: ['null'] }],
    ['allowedOrigins', { allowedOrigins: [''] }],
    ['allowedOrigins', { allowedOrigins: ['admin.example.com'] }],
    ['allowedOrigins', { allowedOrigins: ['https://admin.example.com/'] }],
    ['allowedOrigins', { allowedOrigins: ['https://admin.example.com/path'] }],
    ['allowedOrigins', { allowedOrigins: ['https://admin.example.com:443'] }],
    ['allowedOrigins', { allowedOrigins: ['https://ADMIN.example.com'] }],
    ['allowedOrigins', { allowedOrigins: ['https://fine.example.com', 'ftp://x'] }],
    ...['*', '', 'a b', 'a, b', 'a\nb'].flatMap((name): typeof settings => [
      ['allowedHeaders', { allowedHeaders: ['traceparent', name] }],
      ['exposedHeaders', { exposedHeaders: [name] }],
    ]),
    ['sessionCookie', { sessionCookie: '' }],
    ['sessionCookie', { sessionCookie: 'a b' }],
    ['sessionCookie', { sessionCookie: 'service.jwt' }],
    ['cookiePrefix', { cookiePrefix: '' }],
    ['cookiePrefix', { cookiePrefix: 'a b' }],
    ['cookiePrefix', { cookiePrefix: 'a;b' }],
    ['cookiePrefix', { cookiePrefix: 'a=b' }],
    ['cookiePrefix', { cookiePrefix: 'a\nb' }],
    ['cookiePrefix', { cookiePrefix: 'é' }],
    ['cookiePrefix', { cookiePrefix: 'a'.repeat(65) }],
    ...[
      '',
      'com',
      '.example.com',
      'Example.com',
      'ple.com',
      'other.com',
      'x.app.example.com',
      '*.com',
      'a.com;',
    ].map((cookieDomain): (typeof settings)[number] => ['cookieDomain', { cookieDomain }]),
    ['cookieDomain', { baseUrl: 'http://127.0.0.1:3000', cookieDomain: '127.0.0.1' }],
    ['cookieSameSite', JSON.parse('{ "cookieSameSite": "strict" }')],
    ['cookieSameSite', { cookieSameSite: 'none' }],
    [
      'cookieSameSite',
      { baseUrl: 'http://localhost:3000', allowedOrigins: [baseUrl], cookieSameSite: 'none' },
    ],
    ...[Number.POSITIVE_INFINITY].flatMap((value): typeof settings => [
      ['jwt.expiresInSeconds', { jwt: { expiresInSeconds: value } }],
      ['session.expiresInSeconds', { session: { expiresInSeconds: value } }],
    ]),
    ...[0, -1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, 2 ** 53].flatMap((value): typeof settings => [
      ['jwt.expiresInSeconds', { jwt: { expiresInSeconds: value } }],
      ['jwt.cacheSize', { jwt: { cacheSize: value } }],
      ['session.expiresInSeconds', { session: { expiresInSeconds: value } }],
      ['session.lookupTimeoutMs', { session: { lookupTimeoutMs: value } }],
      ['session.renewAfterSeconds', { session: { renewAfterSeconds: value } }],
      ['session.unrememberedExpiresInSeconds', { session: { unrememberedExpiresInSeconds: value } }],
      ['session.absoluteLifetimeSeconds', { session: { absoluteLifetimeSeconds: value } }],
      ['session.idleTimeoutSeconds', { session: { idleTimeoutSeconds: value } }],
      ['session.maxSessionsPerUser', { session: { maxSessionsPerUser: value } }],
      ['session.freshForSeconds', { session: { freshForSeconds: value } }],
    ]),
    ['session.idleTimeoutSeconds', { session: { idleTimeoutSeconds: 900 } }],
    ...[100 * 365 * 86_400 + 1, 8.64e12].flatMap((value): typeof settings => [
      ['jwt.expiresInSeconds', { jwt: { expiresInSeconds: value } }],
      ['session.expiresInSeconds', { session: { expiresInSeconds: value } }],
      ['session.unrememberedExpiresInSeconds', { session: { unrememberedExpiresInSeconds: value } }],
      ['session.absoluteLifetimeSeconds', { session: { absoluteLifetimeSeconds: value } }],
      ['session.idleTimeoutSeconds', { session: { idleTimeoutSeconds: value } }],
    ]),
    ['session.whenFull', JSON.parse('{ "session": { "whenFull": "evict" } }')],
    ['session.rotateSessionToken', JSON.parse('{ "session": { "rotateSessionToken": "true" } }')],
    ['session.idleTimeoutSeconds', { jwt: { expiresInSeconds: 60 }, session: { idleTimeoutSeconds: 60 } }],
  ]

  test.each(settings)('%s in %j', (name, options) => {
    const define = () => defineAuthConfig({ baseUrl, jwks, ...options })
    expect(define).toThrow(ConfigurationError)
    expect(define).toThrow(new RegExp(`^${name.replace('.', '\\.')}\\b`))
  })
})

test('all settings that cannot work are listed in one message', () => {
  const define = () =>
    defineAuthConfig({ baseUrl: 'app', jwks, cookiePrefix: 'a b', jwt: { expiresInSeconds: 0 } })
  expect(define).toThrow(ConfigurationError)
  expect(define).toThrow(/^baseUrl must .*\ncookiePrefix must .*\njwt\.expiresInSeconds must .*$/)
})

describe('http in production', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
  })
  const insecure: [string, Partial<AuthConfigOptions>][] = [
    ['baseUrl', { baseUrl: 'http://app.example.com' }],
    ['baseUrl', { baseUrl: 'http://10.0.0.1:3000' }],
    ['baseUrl', { baseUrl: 'http://localhost.example.com' }],
    ['baseUrl', { baseUrl: 'http://127.0.0.1.example.com' }],
    ['allowedOrigins', { allowedOrigins: ['http://admin.example.com'] }],
  ]

  test.each(insecure)('rejects %s with a ConfigurationError: %o', (setting, options) => {
    vi.stubEnv('NODE_ENV', 'production')
    const define = () => defineAuthConfig({ baseUrl, jwks, ...options })
    expect(define).toThrow(ConfigurationError)
    expect(define).toThrow(new RegExp(`^${setting}: .*allowInsecure`))
  })

  test.each(insecure)('accepts %s with allowInsecure, and outside production: %o', (_setting, options) => {
    defineAuthConfig({ baseUrl, jwks, ...options })
    vi.stubEnv('NODE_ENV', 'production')
    defineAuthConfig({ baseUrl, jwks, ...options, allowInsecure: true })
  })

  test.each(['http://localhost:3000', 'http://127.0.0.1:3000', 'http://127.1.2.3', 'http://[::1]:3000'])(
    'accepts localhost: %s',
    (local) => {
      vi.stubEnv('NODE_ENV', 'production')
      expect(defineAuthConfig({ baseUrl: local, jwks, allowedOrigins: [local] }).secure).toBe(false)
    },
  )

  test("doesn't check without `process`, as on some edge runtimes", () => {
    vi.stubGlobal('process', undefined)
    expect(defineAuthConfig({ baseUrl: 'http://app.example.com', jwks }).secure).toBe(false)
  })
})

describe('with a function', () => {
  test('has the settings of the same options, and spreads like an object', () => {
    const { now, identityCache, ...settings } = defineAuthConfig({ baseUrl, jwks })
    const { now: laterNow, identityCache: laterCache, ...later } = defineAuthConfig(() => ({ baseUrl, jwks }))
    expect(later).toEqual(settings)
    expect(Object.keys(laterCache)).toEqual(Object.keys(identityCache))
    expect(Math.abs(laterNow().getTime() - now().getTime())).toBeLessThan(60_000)
  })

  test('calls it at the first read, once, and is an object of plain values from then on', () => {
    const read = vi.fn(() => ({ baseUrl, jwks }))
    const config = defineAuthConfig(read)
    expect(Object.keys(config)).toEqual(Object.keys(defineAuthConfig({ baseUrl, jwks })))
    expect(read).not.toHaveBeenCalled()
    expect(config.bearer).toBe(false)
    expect(config.identityCache).toBe(config.identityCache)
    expect(read).toHaveBeenCalledOnce()
    const descriptors = Object.values(Object.getOwnPropertyDescriptors(config))
    expect(descriptors.filter((descriptor) => 'get' in descriptor)).toEqual([])
  })

  test('rejects every invalid setting at each read, until they are valid', () => {
    let options = { baseUrl: '', jwks, cookiePrefix: 'a b' }
    const config = defineAuthConfig(() => options)
    for (const name of ['issuer', 'now'] as const)
      expect(() => config[name]).toThrow(
        expect.objectContaining({
          name: 'ConfigurationError',
          message: expect.stringMatching(/^baseUrl .*\ncookiePrefix /),
        }),
      )
    options = { baseUrl, jwks, cookiePrefix: 'app' }
    expect(config.cookies.jwt).toBe('app.jwt')
  })
})

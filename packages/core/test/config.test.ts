import { type AuthConfigOptions, ConfigurationError, defineAuthConfig } from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import { createFrontDoor } from './support/front-door.ts'

const { keySet: jwks } = await createFrontDoor()
const baseUrl = 'https://app.example.com'

test('a base URL and keys are enough: 15 minutes, 30 days, cookies named service, no bearer (spec section 8)', () => {
  const config = defineAuthConfig({ baseUrl, jwks })
  expect(config).toMatchObject({
    issuer: baseUrl,
    audience: baseUrl,
    secure: true,
    bearer: false,
    cookies: { jwt: 'service.jwt', session: '__Host-service.session' },
    jwtLifetimeSeconds: 15 * 60,
    sessionLifetimeSeconds: 30 * 24 * 60 * 60,
    lookupTimeoutMs: 2_000,
  })
  expect([...config.allowedOrigins]).toEqual([baseUrl])
  expect(Math.abs(config.now().getTime() - Date.now())).toBeLessThan(60_000)
})

test('every setting is kept', () => {
  const now = () => new Date(0)
  const config = defineAuthConfig({
    baseUrl: 'http://localhost:3000/app//',
    jwks,
    allowedOrigins: ['https://admin.example.com', 'http://localhost:5173'],
    bearer: true,
    cookiePrefix: 'my-app_1.x',
    jwt: { expiresInSeconds: 60, cacheSize: 5 },
    session: { expiresInSeconds: 3_600, lookupTimeoutMs: 50 },
    now,
  })
  expect(config).toMatchObject({
    baseUrl: 'http://localhost:3000/app',
    issuer: 'http://localhost:3000',
    secure: false,
    bearer: true,
    cookies: { jwt: 'my-app_1.x.jwt', session: 'my-app_1.x.session' },
    jwtLifetimeSeconds: 60,
    sessionLifetimeSeconds: 3_600,
    lookupTimeoutMs: 50,
    now,
  })
  expect([...config.allowedOrigins]).toEqual([
    'http://localhost:3000',
    'https://admin.example.com',
    'http://localhost:5173',
  ])
})

test('the cache of verified tokens is as large as was set', () => {
  const { identityCache } = defineAuthConfig({ baseUrl, jwks, jwt: { cacheSize: 2 } })
  const identity = { userId: 'u', sessionId: 's', issuer: 'i', keyId: 'k', expiresAt: new Date(0) }
  for (let i = 0; i < 5; i++) identityCache.set(`${i}`, 1, identity)
  expect(identityCache.size).toBe(2)
})

describe('a setting that cannot work is refused by its name', () => {
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
    ['cookiePrefix', { cookiePrefix: '' }],
    ['cookiePrefix', { cookiePrefix: 'a b' }],
    ['cookiePrefix', { cookiePrefix: 'a;b' }],
    ['cookiePrefix', { cookiePrefix: 'a=b' }],
    ['cookiePrefix', { cookiePrefix: 'a\nb' }],
    ['cookiePrefix', { cookiePrefix: 'é' }],
    ['cookiePrefix', { cookiePrefix: 'a'.repeat(65) }],
    ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53].flatMap((value): typeof settings => [
      ['jwt.expiresInSeconds', { jwt: { expiresInSeconds: value } }],
      ['jwt.cacheSize', { jwt: { cacheSize: value } }],
      ['session.expiresInSeconds', { session: { expiresInSeconds: value } }],
      ['session.lookupTimeoutMs', { session: { lookupTimeoutMs: value } }],
    ]),
  ]

  test.each(settings)('%s in %j', (name, options) => {
    const define = () => defineAuthConfig({ baseUrl, jwks, ...options })
    expect(define).toThrow(ConfigurationError)
    expect(define).toThrow(new RegExp(`^${name.replace('.', '\\.')}\\b`))
  })
})

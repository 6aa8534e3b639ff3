import { createHmac } from 'node:crypto'
import { type AuthConfig, defineAuthConfig, type SessionKey, sessionCookieProof } from '@sallyport/core'
import { expect, test, vi } from 'vitest'
import { identify, validateIdentity } from '../../src/session/authenticate.ts'
import { reasonOf } from '../support/reason-of.ts'

const baseUrl = 'http://localhost:3000'
const KEY: SessionKey = { sessionId: 's1', userId: 'u1' }
const sign = (token: string, secret = 'secret') =>
  `${token}.${createHmac('sha256', secret).update(token).digest('base64')}`
/** A token whose signature has characters that cookies must encode. */
const token =
  Array.from({ length: 100 }, (_, i) => `token${i}`).find((text) => /[+/].*=/.test(sign(text))) ?? ''
const signed = sign(token)
const encoded = encodeURIComponent(signed)

function openScene({ bearer = false } = {}) {
  let secret = 'secret'
  const findSession = vi.fn(
    async (of: string): Promise<(SessionKey & { version?: number }) | null> => (of === token ? KEY : null),
  )
  const config = defineAuthConfig({
    baseUrl,
    bearer,
    ...sessionCookieProof({ cookie: 'sid', secret: () => secret, findSession }),
  })
  return {
    config,
    findSession,
    replaceSecret(next: string) {
      secret = next
    },
    cookie: (value: string) => identifyWith(config, { cookie: value }),
  }
}

function identifyWith(config: AuthConfig, headers: Record<string, string>) {
  const header = (name: string) => ({ 'sec-fetch-site': 'same-origin', ...headers })[name] ?? null
  return identify({ method: 'GET', header }, 'query', config)
}

test('looks a token up once, and caches the canonical value of the cookie', async () => {
  const { config, cookie, findSession } = openScene()
  expect(await cookie(`sid=${encoded}`)).toMatchObject({ ...KEY, version: null, issuer: baseUrl })
  expect(await cookie(`sid=${signed}`)).toMatchObject(KEY)
  expect(findSession).toHaveBeenCalledTimes(1)
  expect(findSession).toHaveBeenCalledWith(token)
  expect(config.identityCache.size).toBe(1)
})

test('the identity has the version that the lookup returns', async () => {
  const { cookie, findSession } = openScene()
  findSession.mockResolvedValueOnce({ ...KEY, version: 7 })
  expect(await cookie(`sid=${encoded}`)).toMatchObject({ ...KEY, version: 7 })
})

test('an unknown token is SESSION_NOT_FOUND, and looked up again', async () => {
  const { config, cookie, findSession } = openScene()
  for (let call = 0; call < 2; call++)
    expect(await reasonOf(cookie(`sid=${encodeURIComponent(sign('unknown'))}`))).toBe('SESSION_NOT_FOUND')
  expect(findSession).toHaveBeenCalledTimes(2)
  expect(config.identityCache.size).toBe(0)
})

test('a failed lookup is 503, and looked up again', async () => {
  const { config, cookie, findSession } = openScene()
  findSession.mockRejectedValueOnce(new Error('no connection'))
  expect(await reasonOf(cookie(`sid=${encoded}`))).toBe('SESSIONS_UNAVAILABLE')
  expect(config.identityCache.size).toBe(0)
  expect(await cookie(`sid=${encoded}`)).toMatchObject(KEY)
})

test.each([
  ['unsigned', token],
  ['forged', `${token}.${'A'.repeat(43)}=`],
  ['signed with another secret', encodeURIComponent(sign(token, 'other'))],
  ['wrongly encoded', `${encoded}%`],
])('a value that is %s is TOKEN_INVALID, without a lookup', async (_name, value) => {
  const { cookie, findSession } = openScene()
  expect(await reasonOf(cookie(`sid=${value}`))).toBe('TOKEN_INVALID')
  expect(findSession).not.toHaveBeenCalled()
})

test('equal duplicates pass in any spelling, and different ones are COOKIE_CONFLICT', async () => {
  const { cookie } = openScene()
  expect(await cookie(`sid=${encoded}; sid=${encoded}`)).toMatchObject(KEY)
  expect(await cookie(`sid=${encoded}; sid=${signed}`)).toMatchObject(KEY)
  expect(await reasonOf(cookie(`sid=${encoded}; sid=${sign('other')}`))).toBe('COOKIE_CONFLICT')
})

test('other cookies are never read, even if the same secret signed them', async () => {
  const { cookie, findSession } = openScene()
  expect(await reasonOf(cookie(`sid_data=${encoded}; x-sid=${encoded}`))).toBe('TOKEN_MISSING')
  expect(findSession).not.toHaveBeenCalled()
})

test('a new secret rejects values that the old one signed, also cached ones', async () => {
  const { cookie, replaceSecret } = openScene()
  await cookie(`sid=${encoded}`)
  replaceSecret('next')
  expect(await reasonOf(cookie(`sid=${encoded}`))).toBe('TOKEN_INVALID')
  expect(await cookie(`sid=${encodeURIComponent(sign(token, 'next'))}`)).toMatchObject(KEY)
})

test('a bearer token must be signed too, and only the option enables it', async () => {
  const bearer = (config: AuthConfig, value: string) =>
    identifyWith(config, { authorization: `Bearer ${value}` })
  const { config } = openScene({ bearer: true })
  expect(await bearer(config, encoded)).toMatchObject(KEY)
  expect(await bearer(config, signed)).toMatchObject(KEY)
  expect(await reasonOf(bearer(config, token))).toBe('TOKEN_INVALID')
  expect(await reasonOf(bearer(openScene().config, signed))).toBe('TOKEN_MISSING')
})

test('a foreign site may send a bearer token, never the cookie', async () => {
  const { config } = openScene({ bearer: true })
  const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  expect(await reasonOf(identifyWith(config, { ...evil, cookie: `sid=${encoded}` }))).toBe('ORIGIN_REJECTED')
  expect(await identifyWith(config, { ...evil, authorization: `Bearer ${encoded}` })).toMatchObject(KEY)
})

test.each([undefined, ''])('a secret that is not set is a ConfigurationError: %j', (secret) => {
  // A program in JavaScript, or a variable with a non-null assertion.
  const options = { cookie: 'sid', secret: 'secret', findSession: async () => KEY }
  expect(() => sessionCookieProof(Object.assign(options, { secret }))).toThrow(/secret is not set/)
})

test('without a signature, the cookie is the token, and each unknown one costs a lookup', async () => {
  const findSession = vi.fn(async (of: string) => (of === 'a.b' ? KEY : null))
  const proof = sessionCookieProof({ cookie: () => 'sid', secret: null, findSession })
  const config = defineAuthConfig({ baseUrl, ...proof })
  const identity = await identifyWith(config, { cookie: 'sid=a.b' })
  expect(identity).toMatchObject({ ...KEY, keyId: 'unsigned' })
  expect(await reasonOf(identifyWith(config, { cookie: 'sid=a.c' }))).toBe('SESSION_NOT_FOUND')
  expect(findSession).toHaveBeenCalledTimes(2)
  // Step 2 decides, because no key can have leaked.
  const sessions = { findSession: () => null }
  expect(await reasonOf(validateIdentity(identity, { config, sessions }))).toBe('SESSION_NOT_FOUND')
  expect([...proof.jwks.keys(), ...proof.jwks.algorithms]).toEqual([])
  expect(proof.jwks.subscribe(() => {})()).toBeUndefined()
})

test('without a signature, no lookup gets a character that PostgreSQL rejects', async () => {
  const findSession = vi.fn(async () => null)
  const proof = sessionCookieProof({ cookie: 'sid', secret: null, findSession })
  const config = defineAuthConfig({ baseUrl, ...proof })
  expect(await reasonOf(identifyWith(config, { cookie: 'sid=%61%00' }))).toBe('SESSION_NOT_FOUND')
  expect(findSession).toHaveBeenCalledExactlyOnceWith('%61%00')
})

test.each([
  { sessionId: 5, userId: 7 },
  { sessionId: 5n, userId: 7n },
])('ids that a driver reads as $sessionId become text', async (key) => {
  const proof = sessionCookieProof({ cookie: 'sid', secret: null, findSession: async () => Object(key) })
  const config = defineAuthConfig({ baseUrl, ...proof })
  expect(await identifyWith(config, { cookie: 'sid=a' })).toMatchObject({ sessionId: '5', userId: '7' })
})

test('Step 1 waits until the proof knows where the token is, and is 503 if it never does', async () => {
  const { config } = openScene()
  const proof = { readToken: () => token, verify: async () => ({ ...KEY, keyId: 'k1' }) }
  let isReady = false
  const becomesReady = async () => {
    isReady = true
  }
  const readToken = () => (isReady ? token : null)
  const waiting = { ...config, proof: { ...proof, readToken, ready: becomesReady } }
  expect(await identifyWith(waiting, {})).toMatchObject(KEY)
  const ready = () => Promise.reject(new Error('no connection'))
  expect(await reasonOf(identifyWith({ ...config, proof: { ...proof, ready } }, {}))).toBe(
    'SESSIONS_UNAVAILABLE',
  )
  const isKnown = { ...proof, ready: () => undefined }
  expect(await identifyWith({ ...config, proof: isKnown }, {})).toMatchObject(KEY)
})

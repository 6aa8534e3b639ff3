import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSecretKeys } from '../../src/session/secret-keys.ts'
import { reasonOf } from '../support/reason-of.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

const sign = (token: string, secret = 'secret') =>
  `${token}.${createHmac('sha256', secret).update(token).digest('base64')}`
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Returns the same bytes in another spelling: the last character has two unused bits. */
function respell(value: string): string {
  const last = value.at(-2) ?? ''
  return `${value.slice(0, -2)}${alphabet[alphabet.indexOf(last) + 1]}=`
}

test('returns the token of a signed value, which may contain dots', async () => {
  const keys = createSecretKeys(() => 'secret')
  expect(await keys.verify(sign('token'))).toMatchObject({ token: 'token' })
  expect(await keys.verify(sign('a.b'))).toMatchObject({ token: 'a.b' })
  expect(await keys.verify(sign('a'))).toMatchObject({ token: 'a' })
})

test.each([
  ['unsigned', 'token'],
  ['with an empty signature', 'token.'],
  ['with an empty token', sign('')],
  ['signed with another secret', sign('token', 'other')],
  ['with the signature of another token', `other.${sign('token').split('.')[1]}`],
  ['with a shortened signature', sign('token').slice(0, -2)],
  ['with a character before the signature', sign('token').replace('.', '.!')],
  ['with a character after the signature', `${sign('token')}!`],
  ['without padding', sign('token').slice(0, -1)],
  ['in base64url', sign('token 9').replaceAll('+', '-').replaceAll('/', '_')],
  ['with another spelling of the signature', respell(sign('token'))],
])('rejects a value %s', async (_name, value) => {
  expect(await reasonOf(createSecretKeys(() => 'secret').verify(value))).toBe('TOKEN_INVALID')
})

test('the id of a key is a hash, and only the current secret is known', async () => {
  let secret = 'secret'
  const keys = createSecretKeys(() => secret)
  const { keyId } = await keys.verify(sign('token'))
  expect(keyId).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(keys.status(keyId)).toBe('known')
  const { version } = keys
  secret = 'next'
  expect(keys.version).toBeGreaterThan(version)
  expect(keys.status(keyId)).toBe('revoked')
  expect(await reasonOf(keys.verify(sign('token')))).toBe('TOKEN_INVALID')
  expect((await keys.verify(sign('token', 'next'))).keyId).not.toBe(keyId)
  expect(keys.status(keyId)).toBe('revoked')
})

test('the status of a key follows the secret without another call', async () => {
  let secret = 'secret'
  const keys = createSecretKeys(() => secret)
  const { keyId } = await keys.verify(sign('token'))
  secret = 'next'
  expect(keys.status(keyId)).toBe('revoked')
})

test('a secret is no key that a JWT can name', () => {
  const keys = createSecretKeys(() => 'secret')
  expect([...keys.keys(), ...keys.algorithms, keys.findKey('')]).toEqual([undefined])
})

test('a secret that is not known yet is 503, and its arrival is not a change', async () => {
  let secret = ''
  const keys = createSecretKeys(() => secret)
  const { version } = keys
  expect(await reasonOf(keys.verify(sign('token', 'secret')))).toBe('KEYS_UNAVAILABLE')
  expect(await reasonOf(keys.ready())).toBe('KEYS_UNAVAILABLE')
  secret = 'secret'
  await keys.ready()
  expect(keys.version).toBe(version)
  secret = ''
  expect(keys.version).toBeGreaterThan(version)
})

test('a secret that changes while it is imported does not become known', async () => {
  let secret = 'secret'
  const keys = createSecretKeys(() => secret)
  const verifying = keys.verify(sign('token'))
  secret = 'next'
  // Another caller notices the change first.
  expect(keys.version).toBe(1)
  const { keyId } = await verifying
  expect(keys.status(keyId)).toBe('revoked')
})

test('reports a change within 1 s, once, and to subscribers alone', async () => {
  let secret = 'secret'
  const read = vi.fn(() => secret)
  const keys = createSecretKeys(read)
  const listener = vi.fn()
  const unsubscribe = keys.subscribe(listener)
  vi.advanceTimersByTime(5_000)
  expect(listener).not.toHaveBeenCalled()
  secret = 'next'
  vi.advanceTimersByTime(1_000)
  expect(listener).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(5_000)
  expect(listener).toHaveBeenCalledTimes(1)
  unsubscribe()
  read.mockClear()
  vi.advanceTimersByTime(5_000)
  expect(read).not.toHaveBeenCalled()
})

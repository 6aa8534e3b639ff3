import { generateKeyPairSync } from 'node:crypto'
import { staticJwks } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { describe, expect, test, vi } from 'vitest'
import { reasonOf } from '../support/reason-of.ts'

const [ed25519, es256] = await Promise.all([createSigningKey('Ed25519'), createSigningKey('ES256')])
const { publicJwks } = parseSigningKeys({ keys: [ed25519, es256] })

test.each([
  ['JSON text', JSON.stringify(publicJwks)],
  ['an object', publicJwks],
])('finds keys by their kid in a set given as %s', (_name, jwks) => {
  const keySet = staticJwks(jwks)
  expect(keySet.findKey(ed25519.kid)).toMatchObject({ kid: ed25519.kid, alg: 'Ed25519' })
  expect(keySet.findKey(es256.kid)).toMatchObject({ kid: es256.kid, alg: 'ES256' })
  expect([...keySet.algorithms]).toEqual(['Ed25519', 'ES256'])
})

describe('finds no key', () => {
  test.each(['', 'unknown', '__proto__', 'constructor', 'toString', ed25519.kid.toLowerCase()])(
    '%j',
    (kid) => {
      expect(staticJwks(publicJwks).findKey(kid)).toBeUndefined()
    },
  )
})

test('imports a key once, as a public key that can only verify', async () => {
  const key = await staticJwks(publicJwks).findKey(es256.kid)
  const imported = await key?.cryptoKey()
  expect(imported).toMatchObject({ type: 'public', usages: ['verify'] })
  expect(await key?.cryptoKey()).toBe(imported)
})

test('a set that never changes knows its keys, and calls no listener', async () => {
  const keySet = staticJwks(publicJwks)
  expect(Array.from(keySet.keys(), ({ kid }) => kid)).toEqual([ed25519.kid, es256.kid])
  expect([ed25519.kid, 'other', ''].map((kid) => keySet.status(kid))).toEqual(['known', 'gone', 'gone'])
  const listener = vi.fn()
  const stop = keySet.subscribe(listener)
  await keySet.ready()
  stop()
  expect(listener).not.toHaveBeenCalled()
  expect(keySet.version).toBe(1)
})

test('a set is ready only if every key can be imported, and the error has a cause', async () => {
  const [valid, ec] = publicJwks.keys
  const offTheCurve = { ...ec, x: 'A'.repeat(43), y: 'A'.repeat(43) }
  const keySet = staticJwks({ keys: [valid, offTheCurve] })
  expect(await reasonOf(keySet.ready())).toBe('KEYS_UNAVAILABLE')
  await expect(keySet.ready()).rejects.toMatchObject({ cause: expect.any(Error) })
})

test('the material of a key is its public half', () => {
  const [okp, ec] = publicJwks.keys
  const { n, e } = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' })
  const rsa = { kty: 'RSA', alg: 'RS256', kid: 'rsa', n, e }
  const keySet = staticJwks({ keys: [okp, ec, rsa] }, { algorithms: ['Ed25519', 'ES256', 'RS256'] })
  expect(Array.from(keySet.keys(), ({ material }) => material)).toEqual([okp?.x, ec?.x, n])
})

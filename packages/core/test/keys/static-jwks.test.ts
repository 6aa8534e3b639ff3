import { staticJwks } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { describe, expect, test } from 'vitest'

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

import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { calculateJwkThumbprint } from 'jose'
import { describe, expect, test } from 'vitest'
import { toPublicJwk } from '../../src/keys/key-ring.ts'

describe.each(['Ed25519', 'ES256'] as const)('a new %s key', async (alg) => {
  const key = await createSigningKey(alg)

  test('is named by its thumbprint', async () => {
    expect(key).toMatchObject({ alg, use: 'sig' })
    expect(key.kid).toBe(await calculateJwkThumbprint(toPublicJwk(key)))
  })

  test('contains nothing of its private half when it is published', () => {
    const members =
      alg === 'ES256'
        ? ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']
        : ['alg', 'crv', 'kid', 'kty', 'use', 'x']
    const { publicJwks } = parseSigningKeys({ keys: [{ ...key, key_ops: ['sign'], note: 'hush' }] })
    expect(publicJwks.keys.map((jwk) => Object.keys(jwk).sort())).toEqual([members])
    expect(JSON.stringify(publicJwks)).not.toContain(key.d)
  })

  test("is imported once, and can't be exported", async () => {
    const { active } = parseSigningKeys({ keys: [key] })
    const imported = await active.cryptoKey()
    expect(imported).toMatchObject({ type: 'private', usages: ['sign'], extractable: false })
    expect(await active.cryptoKey()).toBe(imported)
  })
})

test('no two keys are equal', async () => {
  const [one, other] = await Promise.all([createSigningKey(), createSigningKey()])
  expect(one.kid).not.toBe(other.kid)
})

test('no kid starts with a dash, which the command line would read as an option', async () => {
  const keys = await Promise.all(Array.from({ length: 400 }, () => createSigningKey()))
  expect(keys.filter(({ kid }) => kid.startsWith('-'))).toEqual([])
})

test('the first key signs, and all are published', async () => {
  const [first, second] = await Promise.all([createSigningKey('Ed25519'), createSigningKey('ES256')])
  const keys = parseSigningKeys(JSON.stringify({ keys: [first, second] }))
  expect(keys.active).toMatchObject({ kid: first.kid, alg: 'Ed25519' })
  expect(keys.publicJwks).toEqual({ keys: [toPublicJwk(first), toPublicJwk(second)] })
})

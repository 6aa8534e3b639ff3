import { defineAuthConfig, dynamicJwks, staticJwks } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { expect, test, vi } from 'vitest'
import { readSigningKeys } from '../../src/keys/read-signing-keys.ts'
import { isSigningKeys } from '../../src/keys/signing-keys.ts'
import { messageOf } from '../support/message-of.ts'

const [first, second] = await Promise.all([createSigningKey(), createSigningKey()])
const keys = parseSigningKeys({ keys: [first] })
const es256 = await createSigningKey('ES256')
const baseUrl = 'http://localhost:3000'
const configOf = (jwks: unknown) => defineAuthConfig({ baseUrl, jwks: staticJwks(jwks) })

test.each([
  ['JSON text', JSON.stringify({ keys: [first] })],
  ['an object', { keys: [first] }],
  ['parsed keys', keys],
])('reads signing keys given as %s', (_name, signingKeys) => {
  expect(readSigningKeys(signingKeys, configOf(keys.publicJwks))?.active).toMatchObject({ kid: first.kid })
})

test('parsed keys are used as they are, and without keys, nothing is signed', () => {
  const config = configOf(keys.publicJwks)
  expect(readSigningKeys(keys, config)).toBe(keys)
  expect(readSigningKeys(undefined, config)).toBeNull()
  expect(messageOf(() => readSigningKeys(null, config))).toContain('SIGNING_KEYS must be a JWK Set')
})

test('rejects a key that the JWKS lacks, or has for another algorithm', () => {
  const others = parseSigningKeys({ keys: [second] })
  const sameName = parseSigningKeys({ keys: [{ ...es256, kid: first.kid }] })
  for (const { publicJwks } of [others, sameName])
    expect(messageOf(() => readSigningKeys(keys, configOf(publicJwks)))).toContain('is not in JWKS')
})

test('does not wait for a JWKS that must be fetched, and leaves its failure to the first call', async () => {
  const onRejection = vi.fn()
  process.once('unhandledRejection', onRejection)
  const fetch = () => Promise.reject(new Error('no connection'))
  const config = defineAuthConfig({ baseUrl, jwks: dynamicJwks(`${baseUrl}/jwks`, { fetch }) })
  expect(readSigningKeys(keys, config)).toBe(keys)
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', onRejection)
  expect(onRejection).not.toHaveBeenCalled()
})

test.each([
  ['parsed keys', keys, true],
  ['a JWK Set', { keys: [first] }, false],
  ['only an active key', { active: keys.active }, false],
  ['only a public set', { publicJwks: keys.publicJwks }, false],
  ['text', JSON.stringify({ keys: [first] }), false],
  ['null', null, false],
  ['undefined', undefined, false],
])('whether a value is already parsed: %s', (_name, value, expected) => {
  expect(isSigningKeys(value)).toBe(expected)
})

import {
  type AuthConfig,
  ConfigurationError,
  defineAuthConfig,
  type KeySet,
  staticJwks,
} from '@sallyport/core'
import { createSigningKey, defineAuth, parseSigningKeys } from '@sallyport/core/auth'
import { expect, test } from 'vitest'

const [own, other] = await Promise.all([createSigningKey('Ed25519'), createSigningKey('ES256')])
const configOf = (jwks: KeySet): AuthConfig => defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks })
const publicKeys = (...keys: unknown[]) => staticJwks(parseSigningKeys({ keys }).publicJwks)

test('a definition holds the config, the key that signs and the plugins', () => {
  const config = configOf(publicKeys(own))
  const plugin = { id: 'mine', endpoints: [] }
  const definition = defineAuth({ config, signingKeys: { keys: [own] }, plugins: [plugin] })
  expect(definition.config).toBe(config)
  expect(definition.signingKeys.active).toMatchObject({ kid: own.kid })
  expect(definition.plugins).toEqual([plugin])
})

test.each([
  ['is not in the JWKS', { keys: [own] }, publicKeys(other)],
  ['is in the JWKS under another algorithm', { keys: [{ ...own, kid: other.kid }] }, publicKeys(other)],
  ['is only the second private key', { keys: [own, other] }, publicKeys(other)],
])('a key that signs but %s is refused, since nobody could verify its tokens', (_name, signingKeys, jwks) => {
  expect(() => defineAuth({ config: configOf(jwks), signingKeys })).toThrow(ConfigurationError)
})

test('private keys that break the policy are refused', () => {
  expect(() => defineAuth({ config: configOf(publicKeys(own)), signingKeys: '{' })).toThrow(
    ConfigurationError,
  )
})

test('a key set that must be fetched is not waited for', () => {
  const fetched: KeySet = { ...publicKeys(own), findKey: async () => undefined }
  expect(() => defineAuth({ config: configOf(fetched), signingKeys: { keys: [own] } })).not.toThrow()
})

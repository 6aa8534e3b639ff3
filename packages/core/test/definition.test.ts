import {
  type AuthConfig,
  ConfigurationError,
  defineAuthConfig,
  type KeySet,
  staticJwks,
} from '@sallyport/core'
import { type AuthPlugin, createSigningKey, defineAuth, parseSigningKeys } from '@sallyport/core/auth'
import { expect, test } from 'vitest'
import * as z from 'zod'

const [own, other] = await Promise.all([createSigningKey('Ed25519'), createSigningKey('ES256')])
const configOf = (jwks: KeySet): AuthConfig => defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks })
const publicKeys = (...keys: unknown[]) => staticJwks(parseSigningKeys({ keys }).publicJwks)

test('a definition holds the config, the key that signs and the plugins', () => {
  const config = configOf(publicKeys(own))
  const plugin = { id: 'mine', endpoints: {} }
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

const defineWith = (plugins: readonly AuthPlugin[]) => () =>
  defineAuth({ config: configOf(publicKeys(own)), signingKeys: { keys: [own] }, plugins })

test.each(['', 'my plugin', 'my_plugin', 'plug"in', 'é', 'x'.repeat(41), 'sallyport'])(
  'a plugin cannot have the id %j, which names its tables of migrations',
  (id) => {
    expect(defineWith([{ id }])).toThrow(ConfigurationError)
    expect(defineWith([{ id }])).toThrow(`plugins: ${id} is no id`)
  },
)

test.each(['a', 'email-password', 'Organization2', '-', 'x'.repeat(40)])(
  'a plugin may have the id %s',
  (id) => {
    expect(defineWith([{ id }])).not.toThrow()
  },
)

test.each<[string, AuthPlugin]>([
  ['the column role', { id: 'a', userColumns: { role: { schema: z.string() } } }],
  ['the column banned', { id: 'a', userColumns: { banned: { schema: z.boolean() } } }],
  ['the reason TOKEN_EXPIRED', { id: 'a', reasons: { TOKEN_EXPIRED: { status: 409, message: 'Mine' } } }],
  ['the reason INVALID_INPUT', { id: 'a', reasons: { INVALID_INPUT: { status: 409, message: 'Mine' } } }],
])('a plugin cannot claim %s, which is ours', (what, plugin) => {
  expect(defineWith([plugin])).toThrow(ConfigurationError)
  expect(defineWith([plugin])).toThrow(`plugins: ${what} is claimed twice`)
})

const column = { schema: z.string() }
test.each<[string, AuthPlugin, AuthPlugin]>([
  ['the id a', { id: 'a' }, { id: 'a' }],
  [
    'the column locale',
    { id: 'a', userColumns: { locale: column } },
    { id: 'b', userColumns: { locale: column } },
  ],
  [
    'the reason TAKEN',
    { id: 'a', reasons: { TAKEN: { status: 409, message: 'One' } } },
    { id: 'b', reasons: { TAKEN: { status: 409, message: 'Other' } } },
  ],
])('two plugins cannot both claim %s', (what, one, two) => {
  expect(defineWith([one])).not.toThrow()
  expect(defineWith([one, two])).toThrow(ConfigurationError)
  expect(defineWith([one, two])).toThrow(`plugins: ${what} is claimed twice`)
})

import { defineAuthConfig, dynamicJwks, staticJwks } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { parseServiceSigningKeys, rejectSharedKeys } from '@sallyport/core/internal/server'
import { describe, expect, test } from 'vitest'
import { messageOf } from '../support/message-of.ts'
import { createServiceScene } from '../support/service-scene.ts'

const { config, ofUsers, ed25519, es256 } = await createServiceScene()
const publicKeys = (...keys: (typeof ofUsers)[]) => staticJwks(parseSigningKeys({ keys }).publicJwks)

describe('the keys of a service', () => {
  test('are read from the variable, or taken from an opened key file', () => {
    const keys = parseServiceSigningKeys(JSON.stringify({ keys: [ed25519] }), config)
    expect(keys.active.kid).toBe(ed25519.kid)
    expect(parseServiceSigningKeys(keys, config)).toBe(keys)
  })

  test.each([
    [
      'missing',
      undefined,
      'SERVICE_SIGNING_KEYS is not set. Load .env, or run `npx sallyport keys create --prefix SERVICE_ --env .env --create`.',
    ],
    ['no keys', '{}', 'SERVICE_SIGNING_KEYS must be a JWK Set: { "keys": [ ... ] }'],
    ['a number', 1, 'SERVICE_SIGNING_KEYS must be a JWK Set: { "keys": [ ... ] }'],
    ['null', null, 'SERVICE_SIGNING_KEYS must be a JWK Set: { "keys": [ ... ] }'],
  ])('that are %s are reported with their variable', (_what, keys, message) => {
    expect(messageOf(() => parseServiceSigningKeys(keys, config))).toBe(message)
  })

  test.each([
    ["the users' key", [ofUsers]],
    ["the users' key among others", [ed25519, ofUsers]],
    ["the users' key under another id", [{ ...ofUsers, kid: 'renamed' }]],
    ["another key under the id of the users' key", [{ ...ed25519, kid: ofUsers.kid }]],
  ])('must not be %s', (_what, keys) => {
    expect(messageOf(() => parseServiceSigningKeys({ keys }, config))).toMatch(
      /^SERVICE_SIGNING_KEYS: the key \S+ verifies JWTs of users too/,
    )
    expect(messageOf(() => rejectSharedKeys(publicKeys(...keys), config))).toMatch(
      /^SERVICE_JWKS: the key \S+ verifies JWTs of users too/,
    )
  })

  test('are accepted in any other case', () => {
    expect(messageOf(() => rejectSharedKeys(publicKeys(ed25519, es256), config))).toBe('accepted')
  })
})

test('rejects the key of a trusted issuer too', () => {
  const partner = {
    issuer: 'https://id.example.com',
    audience: 'https://app.example.com',
    typ: 'at+jwt',
    jwks: publicKeys(es256),
    claims: { userId: 'sub', sessionId: 'sid' },
  }
  const trusting = defineAuthConfig({
    baseUrl: 'https://app.example.com',
    jwks: publicKeys(ofUsers),
    trustedIssuers: [partner],
  })
  expect(messageOf(() => rejectSharedKeys(publicKeys(ed25519, es256), trusting))).toMatch(es256.kid)
})

test('checks remote keys as soon as they arrive', async () => {
  const { publicJwks } = parseSigningKeys({ keys: [ofUsers] })
  const jwks = dynamicJwks('https://app.example.com/api/auth/jwks', {
    fetch: async () => Response.json(publicJwks),
  })
  expect(messageOf(() => rejectSharedKeys(jwks, config))).toBe('accepted')
  await jwks.ready()
  expect(messageOf(() => rejectSharedKeys(jwks, config))).toMatch(/^SERVICE_JWKS/)
})

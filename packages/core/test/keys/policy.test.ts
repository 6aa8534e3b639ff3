import { createHash, generateKeyPairSync } from 'node:crypto'
import { ConfigurationError, staticJwks } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { describe, expect, test } from 'vitest'
import { toPublicJwk } from '../../src/keys/key-ring.ts'
import { parsePublicJwks } from '../../src/keys/policy.ts'

const [ed25519, es256] = await Promise.all([createSigningKey('Ed25519'), createSigningKey('ES256')])
const ed = toPublicJwk(ed25519)
const es = toPublicJwk(es256)
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const secret = 'c2VjcmV0LW9mLTMyLWJ5dGVzLXRoYXQtbm9ib2R5LXNlZQ'

/** Returns the message of the rejection. */
function rejectionOf(jwks: unknown, parse: (jwks: unknown) => unknown = staticJwks): string {
  try {
    parse(jwks)
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message
    throw error
  }
  return 'accepted'
}

const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const without = (key: object, name: string) =>
  Object.fromEntries(Object.entries(key).filter(([member]) => member !== name))
const changed = (key: object, members: object) => ({ keys: [{ ...key, ...members }] })
const manyKeys = (count: number) => ({
  keys: Array.from({ length: count }, (_, i) => ({ ...ed, kid: `k${i}` })),
})

test('accepts the same set without a fault', () => {
  expect(rejectionOf({ keys: [ed, es] })).toBe('accepted')
  expect(rejectionOf(manyKeys(20))).toBe('accepted')
})

describe("rejects a value that isn't a JWK Set", () => {
  const text = JSON.stringify({ keys: [ed] })
  const notJson = 'JWKS is not JSON'
  const cure = 'Run `npx sallyport keys create`.'
  const notASet = 'JWKS must be a JWK Set: { "keys": [ ... ] }'

  test.each([
    [
      'nothing',
      undefined,
      'JWKS is not set. Load .env, or run `npx sallyport keys create --env .env --create`.',
    ],
    ['null', null, notASet],
    ['an empty text', '', `${notJson}: it is empty. ${cure}`],
    ['white space', ' \n', `${notJson}: it is empty. ${cure}`],
    ['a byte order mark before it', `\uFEFF${text}`, `${notJson}: it starts with a byte order mark. ${cure}`],
    ['single quotes around it', `'${text}'`, `${notJson}: it is in quotes. ${cure}`],
    ['JSON in JSON', JSON.stringify(text), notASet],
    [
      'PEM',
      rsa.publicKey.export({ type: 'spki', format: 'pem' }),
      `${notJson}: it is PEM, not a JWK Set. ${cure}`,
    ],
    ['text cut off', text.slice(0, -1), `${notJson}. ${cure}`],
    ['a list of keys', [ed], notASet],
    ['one key', ed, notASet],
    ['keys that are an object', { keys: { 0: ed } }, notASet],
    ['a key that is text', { keys: [JSON.stringify(ed)] }, notASet],
    ['a key that is null', { keys: [null] }, notASet],
    ['a key that is a list', { keys: [[ed]] }, notASet],
    ['a list with a hole', { keys: new Array(1) }, notASet],
    ['a key beside one that is none', { keys: [ed, null] }, notASet],
    ['no key', { keys: [] }, `JWKS has no keys. ${cure}`],
    ['21 keys', manyKeys(21), 'JWKS has 21 keys. Keep at most 20.'],
  ])('%s', (_name, jwks, message) => {
    expect(rejectionOf(jwks)).toBe(message)
  })
})

describe('rejects a private key among public ones by the name of its member', () => {
  test.each(secretMembers.map((member) => [member, changed(ed, { [member]: secret })] as const))(
    '%s in a public key',
    (member, jwks) => {
      expect(rejectionOf(jwks)).toBe(`JWKS: keys[0].${member} is private. Set the public keys here.`)
    },
  )

  test.each([
    ['d', { keys: [ed25519] }],
    ['d', { keys: [es256] }],
    ['d', changed(rsa.publicKey.export({ format: 'jwk' }), { alg: 'RS256', d: secret })],
    ['k', { keys: [{ kty: 'oct', alg: 'HS256', kid: 'k', k: secret }] }],
  ])('%s of %j', (member, jwks) => {
    expect(rejectionOf(jwks)).toBe(`JWKS: keys[0].${member} is private. Set the public keys here.`)
  })
})

describe('rejects the whole set for one invalid key, by the name of the member', () => {
  const sha1 = createHash('sha1').update('x').digest('base64url')

  test.each([
    ['alg', without(ed, 'alg')],
    ['alg', { ...ed, alg: 'EdDSA' }],
    ['alg', { ...ed, alg: 'none' }],
    ['alg', { ...ed, alg: 'HS256' }],
    ['alg', { ...ed, alg: ['Ed25519'] }],
    ['alg', { ...rsa.publicKey.export({ format: 'jwk' }), alg: 'RS256', kid: 'rsa' }],
    ['alg', { kty: 'oct', kid: 'k' }],
    ['kty', without(ed, 'kty')],
    ['kty', { ...ed, kty: 'EC' }],
    ['kty', { ...es, kty: 'OKP' }],
    ['kty', { ...es, alg: 'Ed25519', crv: 'Ed25519' }],
    ['crv', { ...ed, crv: 'Ed448' }],
    ['crv', { ...ed, crv: 'X25519' }],
    ['crv', { ...es, crv: 'P-384' }],
    ['crv', { ...es, crv: 'secp256k1' }],
    ['x', without(ed, 'x')],
    ['x', { ...ed, x: '' }],
    ['x', { ...ed, x: sha1 }],
    ['x', { ...ed, x: `${ed.x}A` }],
    ['x', { ...ed, x: ed.x.slice(1) }],
    ['x', { ...ed, x: `${ed.x.slice(0, -1)}=` }],
    ['x', { ...ed, x: `+${ed.x.slice(1)}` }],
    ['x', { ...ed, x: `${'A'.repeat(42)}B` }],
    ['x', { ...ed, x: 1 }],
    ['y', without(es, 'y')],
    ['y', { ...es, y: sha1 }],
    ['y', { ...es, y: `${'A'.repeat(42)}B` }],
    ['kid', without(ed, 'kid')],
    ['kid', { ...ed, kid: '' }],
    ['kid', { ...ed, kid: 1 }],
    ['kid', { ...ed, kid: 'a b' }],
    ['kid', { ...ed, kid: 'é' }],
    ['kid', { ...ed, kid: 'k'.repeat(129) }],
    ['kid', { ...ed, kid: es.kid }],
    ['use', { ...ed, use: 'enc' }],
    ['use', { ...ed, use: undefined }],
  ])('%s of %j', (member, key) => {
    expect(rejectionOf({ keys: [es, key] })).toMatch(new RegExp(`^JWKS: keys\\[1\\]\\.${member} \\S`))
  })
})

describe('the message describes the valid values', () => {
  test.each([
    ['alg', 'one of Ed25519, ES256', { ...ed, alg: 'HS256' }],
    ['kty', 'OKP', { ...ed, kty: 'EC' }],
    ['kty', 'EC', { ...es, kty: 'OKP' }],
    ['crv', 'Ed25519', without(ed, 'crv')],
    ['crv', 'P-256', { ...es, crv: 'P-384' }],
    ['x', '32 bytes in base64url', { ...ed, x: 'AAAA' }],
    ['kid', '1 to 128 printable characters', without(ed, 'kid')],
    ['use', 'sig', { ...ed, use: 'enc' }],
  ])('%s must be %s', (member, what, key) => {
    expect(rejectionOf({ keys: [key] })).toBe(`JWKS: keys[0].${member} must be ${what}`)
  })
})

test.each([
  ['JWKS', 'keys create --env .env --create'],
  ['SERVICE_JWKS', 'keys create --prefix SERVICE_ --env .env --create'],
  ['JWKS_OF_SERVICE', 'keys create --prefix JWKS_OF_SERVICE --env .env --create'],
])('the message about a missing %s has the command that sets it', (name, command) => {
  expect(rejectionOf(undefined, (jwks) => staticJwks(jwks, { name }))).toContain(`${name} is not set`)
  expect(rejectionOf(undefined, (jwks) => staticJwks(jwks, { name }))).toContain(`sallyport ${command}\``)
})

test('two sets that differ only in the order of members are the same', () => {
  const reversed = Object.fromEntries(Object.entries(ed).reverse())
  const parse = (key: object) => JSON.stringify(parsePublicJwks({ keys: [key] }, 'JWKS'))
  expect(parse(reversed)).toBe(parse(ed))
})

test('ignores changes to the set after it was read', async () => {
  const key = { ...ed }
  const keySet = staticJwks({ keys: [key] })
  key.x = 'AAAA'
  await keySet.ready()
  expect(keySet.findKey(ed.kid)).toBeDefined()
})

test('a member named __proto__ hides nothing and adds nothing', () => {
  const text = (members: object, key: object) =>
    JSON.stringify({ keys: [key] }).replace('{"keys":[{', `{"keys":[{"__proto__":${JSON.stringify(members)},`)
  expect(rejectionOf(text({ use: 'enc' }, ed))).toBe('accepted')
  expect(rejectionOf(text(ed, without(ed, 'x')))).toBe('JWKS: keys[0].x must be 32 bytes in base64url')
})

test('accepts a key without a use, and extra members', () => {
  expect(rejectionOf({ keys: [{ ...without(ed, 'use'), x5t: 'AAAA', key_ops: ['verify'] }] })).toBe(
    'accepted',
  )
})

describe('private keys', () => {
  test.each([
    ['d', { ...ed, d: undefined }],
    ['d', { ...ed25519, d: 'AAAA' }],
    ['d', { ...ed25519, d: `${ed25519.d}=` }],
    ['x', { ...ed25519, x: 'AAAA' }],
    ['alg', { ...ed25519, alg: 'HS256' }],
    ['kid', { ...ed25519, kid: es256.kid }],
  ])('rejects an invalid key by the name of its member: %s', (member, key) => {
    expect(rejectionOf({ keys: [es256, key] }, parseSigningKeys)).toMatch(
      new RegExp(`^SIGNING_KEYS: keys\\[1\\]\\.${member} \\S`),
    )
  })

  test.each([
    ['nothing', undefined],
    ["text that isn't JSON", 'x'],
    ['no key', { keys: [] }],
    ['21 keys', { keys: Array.from({ length: 21 }, (_, i) => ({ ...ed25519, kid: `k${i}` })) }],
  ])('rejects %s', (_name, jwks) => {
    expect(rejectionOf(jwks, parseSigningKeys)).toMatch(/^SIGNING_KEYS /)
  })
})

describe('no message contains a secret', () => {
  test.each([
    ['a private key in JWKS', { keys: [ed25519] }],
    ['text cut off', JSON.stringify({ keys: [ed25519] }).slice(0, -1)],
    ['text in quotes', `'${JSON.stringify({ keys: [ed25519] })}'`],
    ['a text with the key alone', JSON.stringify(ed25519)],
    ['the scalar alone', ed25519.d],
    ['a scalar in the wrong member', changed(ed, { x: `${ed25519.d}A` })],
    ['a scalar as alg', changed(ed, { alg: ed25519.d })],
    ['a scalar too long', { keys: [{ ...ed25519, d: `${ed25519.d}A` }] }],
    ['a private key of another kind', { keys: [rsa.privateKey.export({ format: 'jwk' })] }],
  ])('%s', (_name, jwks) => {
    for (const parse of [staticJwks, parseSigningKeys]) {
      const message = rejectionOf(jwks, parse)
      expect(message).not.toContain(ed25519.d.slice(0, 8))
      expect(message).not.toContain(String(rsa.privateKey.export({ format: 'jwk' }).d).slice(0, 8))
    }
  })
})

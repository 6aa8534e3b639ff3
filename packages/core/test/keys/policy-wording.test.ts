import { generateKeyPairSync } from 'node:crypto'
import { staticJwks } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { describe, expect, test } from 'vitest'
import { toPublicJwk } from '../../src/keys/key-ring.ts'
import { messageOf } from '../support/message-of.ts'

const key = await createSigningKey()
const text = JSON.stringify({ keys: [toPublicJwk(key)] })
const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

// The usual ways in which a variable goes wrong between a file, a shell and a platform's settings page.
describe.each([
  ['JWKS', staticJwks],
  ['SIGNING_KEYS', parseSigningKeys],
])('%s that is not JSON says what it is instead', (setting, parse) => {
  test.each([
    [': it starts with a byte order mark', `\uFEFF${text}`],
    [': it stands in quotes', `'${text}'`],
    [': it stands in quotes', `  "${text}"`],
    [': it stands in quotes', `\`${text}\``],
    [': it is PEM, and a JWK Set is needed', pem],
    [': it is PEM, and a JWK Set is needed', pem.replaceAll('\n', '\\n')],
    [': it is empty', ''],
    [': it is empty', ' \n\t'],
    ['', text.slice(0, -1)],
    ['', `${text}${text}`],
    ['', `${setting}=${text}`],
    ['', text.replaceAll('"', '\\"')],
  ])('%s (%#)', (what, value) => {
    expect(messageOf(() => parse(value))).toBe(
      `${setting} is not JSON${what}. Run "npx sallyport keys create"`,
    )
  })
})

describe('a setting that is missing or of the wrong kind says what is needed', () => {
  test('one that is not set says so', () => {
    expect(messageOf(() => staticJwks(undefined))).toBe(
      'JWKS is not set. Load your .env file, or run "npx sallyport keys create"',
    )
  })

  test.each([null, 1, true, JSON.stringify(text), [], JSON.parse(text).keys[0]])('%j', (value) => {
    expect(messageOf(() => staticJwks(value))).toBe('JWKS must be a JWK Set: { "keys": [ ... ] }')
  })
})

test('text around the set that JSON allows is allowed', () => {
  expect(messageOf(() => staticJwks(`\n ${text}\r\n`))).toBe('accepted')
})

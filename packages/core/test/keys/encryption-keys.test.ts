import { ConfigurationError } from '@sallyport/core'
import { errors, FlattenedEncrypt } from 'jose'
import { describe, expect, test } from 'vitest'
import { readEncryptionKeys } from '../../src/keys/encryption-keys.ts'

const [first, second] = [1, 2].map((byte) => Buffer.alloc(32, byte))
const base64 = (key: Buffer | undefined) => key?.toString('base64') ?? ''
const base64url = (key: Buffer | undefined) => key?.toString('base64url') ?? ''
const OWNER = ['totp', 'ada']

const keysOf = (variable: string) => {
  const keys = readEncryptionKeys(variable)
  if (keys === null) throw new TypeError('No keys')
  return keys
}

test('a text decrypts for its owner, and is encrypted differently each time', async () => {
  const keys = keysOf(base64(first))
  const encrypted = [await keys.encrypt('secret ✓', OWNER), await keys.encrypt('secret ✓', OWNER)]
  expect(encrypted[0]).not.toBe(encrypted[1])
  expect(encrypted.join()).not.toContain('secret')
  for (const text of encrypted) expect(await keys.decrypt(text, OWNER)).toBe('secret ✓')
})

test.each([
  ['another user', ['totp', 'bob']],
  ['another purpose', ['oauth', 'ada']],
  ['the same text, split differently', ['totpa', 'da']],
  ['one more part', ['totp', 'ada', '']],
])('a text does not decrypt for %s', async (_name, owner) => {
  const keys = keysOf(base64(first))
  await expect(keys.decrypt(await keys.encrypt('secret', OWNER), owner)).rejects.toThrow()
})

test('a changed text does not decrypt', async () => {
  const keys = keysOf(base64(first))
  const encrypted = await keys.encrypt('secret', OWNER)
  const jwe = JSON.parse(encrypted)
  const flipped = (part: string) => `${part.startsWith('A') ? 'B' : 'A'}${part.slice(1)}`
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = JSON.parse(Buffer.from(jwe.protected, 'base64url').toString())
  expect(await keys.decrypt(JSON.stringify({ ...jwe }), OWNER)).toBe('secret')
  for (const change of [
    { iv: flipped(jwe.iv) },
    { ciphertext: flipped(jwe.ciphertext) },
    { ciphertext: '' },
    { tag: flipped(jwe.tag) },
    { tag: jwe.tag.slice(0, 4) },
    { iv: '' },
    { iv: undefined, ciphertext: undefined, tag: undefined },
    { protected: encode({ ...header, alg: 'A256GCMKW' }) },
    { protected: encode({ ...header, enc: 'A128GCM' }) },
    { protected: encode({ ...header, kid: undefined }) },
  ])
    await expect(keys.decrypt(JSON.stringify({ ...jwe, ...change }), OWNER)).rejects.toThrow()
})

test('the stored text does not name its owner, and an owner in it changes nothing', async () => {
  const keys = keysOf(base64(first))
  const jwe = JSON.parse(await keys.encrypt('secret', OWNER))
  expect(Object.keys(jwe).toSorted()).toEqual(['ciphertext', 'iv', 'protected', 'tag'])
  const moved = { ...jwe, aad: Buffer.from(JSON.stringify(OWNER)).toString('base64url') }
  await expect(keys.decrypt(JSON.stringify(moved), ['totp', 'bob'])).rejects.toThrow()
})

test.each([
  ['alg', { alg: 'A256KW', enc: 'A256GCM' }],
  ['enc', { alg: 'dir', enc: 'A128CBC-HS256' }],
])('another `%s` is rejected, even with the right key', async (_name, algorithms) => {
  const key = Buffer.alloc(32, 1)
  const keys = keysOf(base64(key))
  const { protected: header } = JSON.parse(await keys.encrypt('secret', OWNER))
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString())
  const jwe = await new FlattenedEncrypt(Buffer.from('secret'))
    .setProtectedHeader({ ...algorithms, kid })
    .setAdditionalAuthenticatedData(Buffer.from(JSON.stringify(OWNER)))
    .encrypt(key)
  await expect(keys.decrypt(JSON.stringify(jwe), OWNER)).rejects.toThrow(errors.JOSEAlgNotAllowed)
})

describe('rotation', () => {
  test('the first key encrypts, and all decrypt', async () => {
    const old = await keysOf(base64(first)).encrypt('secret', OWNER)
    const rotated = keysOf(`${base64(second)}, ${base64(first)}`)
    expect(await rotated.decrypt(old, OWNER)).toBe('secret')
    const renewed = await rotated.encrypt('secret', OWNER)
    expect(await keysOf(base64(second)).decrypt(renewed, OWNER)).toBe('secret')
    await expect(keysOf(base64(first)).decrypt(renewed, OWNER)).rejects.toThrow(ConfigurationError)
  })

  test('a key may be base64 or base64url', async () => {
    const random = Buffer.from('fb'.repeat(32), 'hex')
    const encrypted = await keysOf(base64(random)).encrypt('secret', OWNER)
    expect(base64(random)).not.toBe(base64url(random))
    expect(await keysOf(base64url(random)).decrypt(encrypted, OWNER)).toBe('secret')
  })
})

test.each([undefined, '', ' '])('%o means that there are no keys', (variable) => {
  expect(readEncryptionKeys(variable)).toBeNull()
})

test.each([
  ['too short', base64(first).slice(4), 'key 1'],
  ['too long', `${base64(first).slice(0, -1)}AAA=`, 'key 1'],
  ['not base64', '!'.repeat(43), 'key 1'],
  ['the second is empty', `${base64(first)},`, 'key 2'],
])('a key that is %s is rejected, with its place and without its value', (_name, variable, place) => {
  const read = () => readEncryptionKeys(variable)
  expect(read).toThrow(ConfigurationError)
  expect(read).toThrow(place)
  expect(read).not.toThrow(variable)
})

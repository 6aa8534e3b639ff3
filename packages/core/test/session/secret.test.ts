import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createFamily, createSecret, hashSecret, isOfFamily } from '../../src/session/secret.ts'

test('a secret is 256 bits in base64url, and never the same twice', async () => {
  const secrets = await Promise.all(Array.from({ length: 200 }, () => createSecret()))
  expect(new Set(secrets).size).toBe(200)
  for (const secret of secrets) {
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
  }
})

test('what is stored of a secret is sha256: and its hash in hex', async () => {
  for (const secret of ['', 'a', 'é', await createSecret()]) {
    expect(await hashSecret(secret)).toBe(`sha256:${createHash('sha256').update(secret).digest('hex')}`)
  }
})

describe('a family', () => {
  const family = createFamily()
  const bytesOf = (secret: string) => Buffer.from(secret, 'base64url')

  test('has a key of 256 bits, and never the same twice', () => {
    const families = Array.from({ length: 200 }, createFamily)
    expect(new Set(families).size).toBe(200)
    for (const each of families) expect(bytesOf(each)).toHaveLength(32)
  })

  test('gives every secret 256 random bits of its own, and a MAC after them', async () => {
    const secrets = await Promise.all(Array.from({ length: 200 }, () => createSecret(family)))
    for (const secret of secrets) expect(bytesOf(secret)).toHaveLength(64)
    const random = (secret: string) => bytesOf(secret).subarray(0, 32).toString('hex')
    expect(new Set(secrets.map(random)).size).toBe(200)
  })

  test('knows every secret of its own, however long ago it was made', async () => {
    for (let i = 0; i < 20; i++) expect(await isOfFamily(await createSecret(family), family)).toBe(true)
  })

  test.each<[string, (secret: string) => string | Promise<string>]>([
    ['of another family', () => createSecret(createFamily())],
    ['of no family', () => createSecret()],
    ['made up', () => Buffer.from(crypto.getRandomValues(new Uint8Array(64))).toString('base64url')],
    ['with another first bit', (secret) => flip(secret, 0)],
    ['with another last bit of the random part', (secret) => flip(secret, 31)],
    ['with another first bit of the MAC', (secret) => flip(secret, 32)],
    ['with another last bit of the MAC', (secret) => flip(secret, 63)],
    ['cut short', (secret) => bytesOf(secret).subarray(0, 63).toString('base64url')],
    ['without its MAC', (secret) => bytesOf(secret).subarray(0, 32).toString('base64url')],
    [
      'with a byte more',
      (secret) => Buffer.concat([bytesOf(secret), Buffer.from([0])]).toString('base64url'),
    ],
    ['empty', () => ''],
    ['no base64url', () => '!?'],
  ])('does not know one %s', async (_name, change) => {
    expect(await isOfFamily(await change(await createSecret(family)), family)).toBe(false)
  })

  function flip(secret: string, at: number): string {
    const bytes = bytesOf(secret)
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    return bytes.toString('base64url')
  }
})

import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { EdgeVM } from '@edge-runtime/vm'
import { describe, expect, test } from 'vitest'
import {
  createCredentials,
  createSecret,
  createSessionSecret,
  hashSecret,
  versionOfSecret,
} from '../../src/session/secret.ts'
import { bundle } from '../support/bundle.ts'

test('a secret is 256 bits in base64url, and never the same twice', () => {
  const secrets = Array.from({ length: 200 }, createSecret)
  expect(new Set(secrets).size).toBe(200)
  for (const secret of secrets) {
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
  }
})

test("the stored value is sha256: and the secret's hash in hex", async () => {
  for (const secret of ['', 'a', 'é', createSecret()]) {
    expect(await hashSecret(secret)).toBe(`sha256:${createHash('sha256').update(secret).digest('hex')}`)
  }
})

test('on the edge of Next.js, where functions of `process` throw, secrets are the same', async () => {
  const { code } = await bundle(fileURLToPath(new URL('../../src/session/secret.ts', import.meta.url)))
  const process = {
    getBuiltinModule() {
      throw new Error('process.getBuiltinModule is not supported in the Edge Runtime')
    },
  }
  const vm = new EdgeVM({ extend: (context) => Object.assign(context, { process }) })
  vm.evaluate(code)
  const edge = vm.evaluate<typeof import('../../src/session/secret.ts')>('bundled')
  expect(await edge.hashSecret('é')).toBe(await hashSecret('é'))
  const family = createSecret()
  expect(await versionOfSecret(await edge.createSessionSecret(family, 7), family)).toBe(7)
  expect(await edge.versionOfSecret(await createSessionSecret(family, 7), family)).toBe(7)
})

describe('the secret of a session', () => {
  const family = createSecret()
  const bytesOf = (secret: string) => Buffer.from(secret, 'base64url')

  test('belongs to a family, whose key has 256 bits and is never the same twice', () => {
    const families = Array.from({ length: 200 }, createSecret)
    expect(new Set(families).size).toBe(200)
    for (const each of families) expect(bytesOf(each)).toHaveLength(32)
  })

  test('has 256 random bits, the version, and a MAC', async () => {
    const secrets = await Promise.all(Array.from({ length: 200 }, () => createSessionSecret(family, 7)))
    for (const secret of secrets) expect(bytesOf(secret)).toHaveLength(32 + 4 + 32)
    const random = (secret: string) => bytesOf(secret).subarray(0, 32).toString('hex')
    expect(new Set(secrets.map(random)).size).toBe(200)
    for (const secret of secrets) expect(bytesOf(secret).readUInt32BE(32)).toBe(7)
  })

  test.each([1, 2, 255, 256, 65_536, 2 ** 32 - 1])('carries its version: %i', async (version) => {
    for (let i = 0; i < 5; i++)
      expect(await versionOfSecret(await createSessionSecret(family, version), family)).toBe(version)
  })

  test('comes with columns that store its hash, and that end the earlier secrets', async () => {
    const { secret, columns } = await createCredentials(3, family)
    expect(columns).toEqual({
      token: await hashSecret(secret),
      tokenFamily: family,
      version: 3,
      provedVersion: 3,
      previousToken: null,
      rotatedAt: null,
    })
    expect(await versionOfSecret(secret, family)).toBe(3)
    const other = await createCredentials(1)
    expect(await versionOfSecret(other.secret, other.columns.tokenFamily ?? '')).toBe(1)
  })

  test.each<[string, (secret: string) => string | Promise<string>]>([
    ['of another family', () => createSessionSecret(createSecret(), 3)],
    ['of no family', () => createSecret()],
    ['made up', () => Buffer.from(crypto.getRandomValues(new Uint8Array(68))).toString('base64url')],
    ['with another first bit', (secret) => flip(secret, 0)],
    ['with another last bit of the random part', (secret) => flip(secret, 31)],
    ['with another first bit of the version', (secret) => flip(secret, 32)],
    ['with another last bit of the version', (secret) => flip(secret, 35)],
    ['with another first bit of the MAC', (secret) => flip(secret, 36)],
    ['with another last bit of the MAC', (secret) => flip(secret, 67)],
    ['truncated', (secret) => bytesOf(secret).subarray(0, 67).toString('base64url')],
    ['without its MAC', (secret) => bytesOf(secret).subarray(0, 36).toString('base64url')],
    ['without its version', (secret) => bytesOf(secret).subarray(0, 32).toString('base64url')],
    [
      'with an extra byte',
      (secret) => Buffer.concat([bytesOf(secret), Buffer.from([0])]).toString('base64url'),
    ],
    ['empty', () => ''],
    ['in invalid base64url', () => '!?'],
  ])('is not recognized %s', async (_name, change) => {
    expect(await versionOfSecret(await change(await createSessionSecret(family, 3)), family)).toBeNull()
  })

  function flip(secret: string, at: number): string {
    const bytes = bytesOf(secret)
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    return bytes.toString('base64url')
  }
})
